import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(8, 8)

    def forward(self, x, y):
        return self.lin(x) * y


net = torch.compile(Net(), backend="eager", dynamic=False)
with torch.no_grad():
    for n in range(2, 14):
        net(torch.randn(n, 8), torch.randn(n, 1))
