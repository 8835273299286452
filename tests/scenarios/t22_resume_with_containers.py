import torch


@torch.compile(backend="eager")
def f(batch, parts):
    total = batch["ids"].sum() + parts[0].sum()
    torch._dynamo.graph_break()
    batch = {k: v * 2 for k, v in batch.items()}
    return total + batch["ids"].sum() + parts[1].mean()


for n in (4, 6, 8, 9):
    f({"ids": torch.randn(n, 2)}, [torch.randn(n + 1), torch.randn(3, n)])
