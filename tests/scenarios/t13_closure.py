import torch


def make():
    n, bias = 2, torch.randn(3)

    @torch.compile(backend="eager")
    def f(x):
        return x * n + bias.sum()

    def advance():
        nonlocal n, bias
        n, bias = n + 1, torch.randn(bias.shape[0] + 2)

    return f, advance


f, advance = make()
for _ in range(4):
    f(torch.randn(5))
    advance()
