import torch


@torch.compile(backend="aot_eager")
def f(batch, weight):
    return (batch @ weight).relu().sum()


for lengths in ((3, 5), (4, 2, 6), (7, 3), (2, 2, 2, 2)):
    parts = [torch.randn(length, 4) for length in lengths]
    f(torch.nested.nested_tensor(parts, layout=torch.jagged), torch.randn(4, 3))
