from itertools import pairwise

import torch


class Block(torch.nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin = torch.nn.Linear(d_in, d_out)

    def forward(self, x):
        return self.lin(x).relu()


widths = [4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24]
blocks = torch.nn.ModuleList(Block(a, b) for a, b in pairwise(widths))
for block in blocks:
    block.compile(backend="eager")
with torch.no_grad():
    for _ in range(3):
        x = torch.randn(2, 4)
        for block in blocks:
            x = block(x)
