import torch

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.1))
compiled = torch.compile(model, backend="eager")
for _ in range(2):
    model.train()
    for n in (16, 16, 9):
        compiled(torch.randn(n, 4))
    model.eval()
    with torch.no_grad():
        for n in (32, 5):
            compiled(torch.randn(n, 4))
