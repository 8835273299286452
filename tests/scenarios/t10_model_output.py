from collections import OrderedDict

import torch


class Output(OrderedDict):
    def __init__(self, **fields):
        super().__init__(fields)
        for k, v in fields.items():
            object.__setattr__(self, k, v)


@torch.compile(backend="eager")
def head(out):
    return out["hidden"].mean(1) + out.logits.sum()


for s in (4, 7, 9):
    head(Output(hidden=torch.randn(2, s, 8), logits=torch.randn(2, s)))
