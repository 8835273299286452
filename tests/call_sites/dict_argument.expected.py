# f: L['batch']['ids'] 0
import torch

@torch.compile
def f(batch):
    return batch["ids"]

data = {"ids": torch.randn(4)}
torch._dynamo.mark_dynamic(data["ids"], 0)
f(data)  # call
