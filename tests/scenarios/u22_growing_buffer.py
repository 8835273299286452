import torch


class Rope(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cos", torch.ones(4, 8), persistent=False)

    def forward(self, x):
        return x * self.cos[: x.shape[0]] + self.cos.sum()


rope = Rope()
compiled = torch.compile(rope, backend="eager")
for cached in (4, 8, 16, 32):
    rope.cos = torch.ones(cached, 8)
    compiled(torch.randn(3, 8))
