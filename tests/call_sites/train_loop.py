# forward: L['idx'] 1, L['targets'] 1
import contextlib
import torch

class GPT(torch.nn.Module):
    def forward(self, idx, targets=None):
        return idx, targets

def get_batch(split):
    return torch.randn(2, 5), torch.randn(2, 5)

ctx = contextlib.nullcontext()
model = GPT()
model = torch.compile(model)

def estimate_loss():
    out = {}
    for split in ["train", "val"]:
        for k in range(2):
            X, Y = get_batch(split)
            with ctx:
                logits, loss = model(X, Y)  # call
    return out

estimate_loss()
X, Y = get_batch("train")
for micro_step in range(2):
    with ctx:
        logits, loss = model(X, Y)  # call
        loss = loss + loss  # scale the loss
    # immediately async prefetch next batch
    X, Y = get_batch("train")
