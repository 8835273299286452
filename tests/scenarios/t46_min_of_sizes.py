import torch


@torch.compile(backend="eager")
def sample(logits, k):
    k = min(k, logits.shape[-1])
    values = logits.sort(-1, descending=True).values
    return values[..., :k].sum(-1)


for vocab, k in ((50, 10), (60, 20), (15, 20), (70, 30), (18, 40)):
    sample(torch.randn(2, vocab), k)
