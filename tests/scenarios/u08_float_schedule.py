import torch


@torch.compile(backend="eager")
def loss_fn(logits, temperature, smoothing):
    p = (logits / temperature).softmax(-1)
    return (p * (1 - smoothing)).sum()


for step, n in enumerate((8, 8, 6, 5, 4)):
    loss_fn(torch.randn(n, 10), 1.0 - 0.1 * step, 0.1)
