import torch


@torch.compile(backend="eager")
def positions(x):
    return torch.arange(x.shape[0]) + x.shape[1]


for device in (None, "cpu", "meta", None):
    torch.set_default_device(device)
    positions(torch.empty(4, 3, device="cpu"))
