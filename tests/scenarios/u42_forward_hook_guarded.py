import torch

torch._dynamo.config.skip_nnmodule_hook_guards = False


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.lin(x).relu()


net = Net()
compiled = torch.compile(net, backend="eager")
with torch.no_grad():
    for n in (2, 5):
        compiled(torch.randn(n, 4))
    net.lin.register_forward_hook(lambda module, args, out: out * 0.5)
    for n in (2, 7):
        compiled(torch.randn(n, 4))
