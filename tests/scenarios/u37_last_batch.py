import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(22, 8), torch.randint(0, 3, (22,)))
net = torch.nn.Linear(8, 3)


@torch.compile(backend="eager")
def step(xb, yb):
    return torch.nn.functional.cross_entropy(net(xb), yb)


for _ in range(2):
    for xb, yb in DataLoader(data, batch_size=8):
        step(xb, yb).backward()
