import torch


@torch.compile(backend="eager")
def f(x, bias, mode):
    x = x * 2 if mode == "double" else x
    return x if bias is None else x + bias


f(torch.randn(4, 3), None, "double")
f(torch.randn(6, 3), None, "double")
f(torch.randn(6, 3), torch.randn(3), "double")
f(torch.randn(9, 3), torch.randn(3), "single")
