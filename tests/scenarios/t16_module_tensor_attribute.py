import torch


class Memory(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.history = torch.randn(4, 8)

    def forward(self, x):
        return x + self.history.mean(0)


m = Memory()
c = torch.compile(m, backend="eager")
for _ in range(4):
    c(torch.randn(3, 8))
    m.history = torch.cat([m.history, torch.randn(2, 8)])
