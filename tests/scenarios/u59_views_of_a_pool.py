import torch


@torch.compile(backend="eager")
def score(pool):
    return pool.mean(0)


pool = torch.randn(30, 4)
for part in (pool, pool[1::2], pool[:9], torch.randn(21, 4)):
    score(part)
