# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

def load():
    return {"x": torch.randn(4)}

kwargs = load()
torch._dynamo.mark_dynamic(kwargs["x"], 0)
f(**kwargs)  # call
