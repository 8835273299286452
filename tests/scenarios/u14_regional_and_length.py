import torch


class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = torch.nn.Linear(16, width)
        self.back = torch.nn.Linear(width, 16)

    def forward(self, h):
        return h + self.back(self.lin(h).relu())


layers = torch.nn.ModuleList(Layer(w) for w in (16, 16, 32))
for layer in layers:
    layer.compile(backend="eager")
with torch.no_grad():
    for length in (5, 7, 9, 12):
        h = torch.randn(2, length, 16)
        for layer in layers:
            h = layer(h)
