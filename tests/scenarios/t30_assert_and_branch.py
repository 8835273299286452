import torch


@torch.compile(backend="eager")
def attend(q, limit):
    assert q.shape[0] <= limit, "sequence too long"
    if q.shape[0] > 32:
        q = q[-32:]
    return q.sum() * q.shape[0]


for n in (8, 12, 40, 20, 50):
    attend(torch.randn(n, 2), 64)
