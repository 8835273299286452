# forward: L['x'] 0
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x

model = torch.compile(Net())
x = torch.randn(4)
torch._dynamo.mark_dynamic(x, 0)
model(x).sum().item()  # call
