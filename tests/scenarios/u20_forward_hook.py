import torch

net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
compiled = torch.compile(net, backend="eager")
with torch.no_grad():
    compiled(torch.randn(2, 4))
    net[0].register_forward_hook(lambda module, args, out: out * 0.5)
    compiled(torch.randn(2, 4))
    net[0].register_forward_hook(lambda module, args, out: out + 1)
    compiled(torch.randn(2, 4))
