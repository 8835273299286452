import torch

model = torch.compile(torch.nn.Linear(8, 8), backend="eager")
for n in (4, 5, 6):
    model(torch.randn(n, 8))
with torch.autocast("cpu", dtype=torch.bfloat16):
    for n in (4, 7):
        model(torch.randn(n, 8))
with torch.autocast("cpu", dtype=torch.float16):
    model(torch.randn(5, 8))
model(torch.randn(9, 8).double().float())
