import torch
from torch.overrides import TorchFunctionMode


class Trace(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@torch.compile(backend="eager")
def make(x):
    return x + torch.ones(x.shape[-1])


x = torch.randn(3, 4)
make(x)
torch.use_deterministic_algorithms(True)
make(x)
torch.use_deterministic_algorithms(False)
torch.set_default_dtype(torch.float64)
make(x)
torch.set_default_dtype(torch.float32)
with Trace():
    make(x)
make(x)
