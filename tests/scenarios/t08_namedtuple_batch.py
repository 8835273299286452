from typing import NamedTuple

import torch


class Batch(NamedTuple):
    frames: torch.Tensor
    offset: int
    target: torch.Tensor


@torch.compile(backend="eager")
def loss(batch, weight):
    return (batch.frames.sum() + batch.offset - batch.target.mean()) * weight


w = torch.ones(3)
for n in (4, 6, 8, 9):
    loss(Batch(torch.randn(n, 2), n * 2, torch.randn(5)), w)
