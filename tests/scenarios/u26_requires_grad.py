import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.lin(x).relu()


blocks = [torch.compile(Block(), backend="eager") for _ in range(3)]
for length in (4, 4, 6):
    x = torch.randn(length, 8)
    for block in blocks:
        x = block(x)
