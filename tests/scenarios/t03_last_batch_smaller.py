import torch

model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))


@torch.compile(backend="eager")
def loss_of(x, y):
    return torch.nn.functional.mse_loss(model(x).squeeze(-1), y)


data = torch.utils.data.TensorDataset(torch.randn(71, 6), torch.randn(71))
for _ in range(2):
    for x, y in torch.utils.data.DataLoader(data, batch_size=16):
        loss_of(x, y).backward()
