import torch


@torch.compile(backend="eager")
def stack(history):
    return torch.stack(history).mean(0)


history = []
for _ in range(4):
    history.append(torch.randn(3))
    stack(history)
