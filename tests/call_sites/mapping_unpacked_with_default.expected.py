# f: L['x'] 0
import torch

@torch.compile
def f(y=1, x=None):
    return x

for batch in ({"x": torch.randn(4)}, {}):
    if "x" in batch:
        torch._dynamo.mark_dynamic(batch["x"], 0)
    f(**batch)  # call
