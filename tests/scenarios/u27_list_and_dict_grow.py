import torch


@torch.compile(backend="eager")
def merge(features, extra):
    total = sum(f.mean() for f in features)
    for value in extra.values():
        total = total + value.sum()
    return total


merge([torch.randn(4, 2)], {"a": torch.randn(3)})
merge([torch.randn(4, 2)] * 1 + [torch.randn(5, 2)], {"a": torch.randn(3)})
merge([torch.randn(4, 2), torch.randn(5, 2)], {"a": torch.randn(3), "b": torch.randn(3)})
merge([torch.randn(6, 2), torch.randn(5, 2)], {"a": torch.randn(3), "b": torch.randn(3)})
merge([torch.randn(7, 2)], {"a": torch.randn(3)})
