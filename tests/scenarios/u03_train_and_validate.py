import torch

net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.1), torch.nn.Linear(16, 2))
compiled = torch.compile(net, backend="eager")
for _ in range(2):
    net.train()
    for n in (8, 8, 3):
        compiled(torch.randn(n, 8)).sum().backward()
    net.eval()
    with torch.no_grad():
        for n in (16, 5):
            compiled(torch.randn(n, 8))
