import torch


class LoraLinear(torch.nn.Module):
    def __init__(self, d, r):
        super().__init__()
        self.base = torch.nn.Linear(d, d)
        self.swap(d, r)

    def swap(self, d, r):
        self.lora_a = torch.nn.Parameter(torch.randn(r, d))
        self.lora_b = torch.nn.Parameter(torch.zeros(d, r))

    def forward(self, x):
        return self.base(x) + x @ self.lora_a.t() @ self.lora_b.t()


layer = LoraLinear(8, 4)
compiled = torch.compile(layer, backend="eager")
for r in (4, 8, 16, 6):
    layer.swap(8, r)
    with torch.no_grad():
        compiled(torch.randn(3, 8))
