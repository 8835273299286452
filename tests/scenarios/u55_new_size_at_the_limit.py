import torch

torch._dynamo.config.recompile_limit = 3


@torch.compile(backend="eager")
def f(x, flag):
    return x.sum() if flag else x.mean()


for rows, width, flag in ((4, 5, True), (4, 8, True), (4, 6, False), (9, 6, False)):
    f(torch.randn(rows, width), flag)
