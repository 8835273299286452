import torch


class Layer(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index

    def forward(self, x, cache):
        cache[self.index] = torch.cat([cache[self.index], x])
        return x + cache[self.index].mean(0)


layers = [Layer(index) for index in range(3)]
for layer in layers:
    layer.compile(backend="eager")

for batch in (2, 3):
    cache = [torch.randn(batch + 2, 4) for _ in layers]
    x = torch.randn(batch, 4)
    for layer in layers:
        x = layer(x, cache)
