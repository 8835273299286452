# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

batch = {"x": torch.randn(4)}
torch._dynamo.mark_dynamic(batch["x"], 0)
f(**batch)  # call
