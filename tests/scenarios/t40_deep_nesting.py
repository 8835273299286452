import torch


@torch.compile(backend="eager")
def loss(sample):
    total = sample["image"][0].sum()
    for target in sample["targets"]:
        total = total + target["boxes"].sum() + target["labels"].float().mean()
    return total


for n in (3, 4, 6):
    targets = [
        {"boxes": torch.rand(n + i, 4), "labels": torch.ones(n + i, dtype=torch.long)}
        for i in range(2)
    ]
    loss({"image": (torch.randn(3, 8, 8), "id"), "targets": targets})
