import torch


class MLP(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(8, 16)
        self.down = torch.nn.Linear(16, 4)

    def forward(self, x, target):
        return torch.nn.functional.mse_loss(self.down(self.up(x).relu()), target)


net = torch.compile(MLP())
for n in (4, 6, 9):
    net(torch.randn(n, 8), torch.randn(n, 4)).backward()
