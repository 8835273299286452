import torch

torch.manual_seed(0)


@torch.compile(backend="eager")
def update(p, g, m, lr):
    m.lerp_(g, 0.1)
    p.sub_(lr * m)


shapes = [(8, 4), (8,), (16, 8), (16,), (4, 16), (4,), (12, 4), (12,), (6, 12), (6,), (5, 6), (5,)]
params = [torch.nn.Parameter(torch.randn(s)) for s in shapes]
lr = torch.tensor(0.1)
with torch.no_grad():
    for _ in range(2):
        for p in params:
            update(p, torch.randn_like(p), torch.zeros_like(p), lr)
