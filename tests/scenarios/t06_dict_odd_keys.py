import torch

KEYS = ("a,b", "two words", "q'uote", "x-y", "größe", 3, (1, 2), "a:0")


@torch.compile(backend="eager")
def total(d):
    return sum(d[k].sum() for k in KEYS)


for n in (2, 3, 4):
    total({k: torch.randn(n * 10 + i) for i, k in enumerate(KEYS)} | {"unused": torch.ones(n)})
