import torch


class Expert(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.up = torch.nn.Linear(8, hidden)

    def forward(self, x):
        return self.up(x).relu()


@torch.compile(backend="eager")
def run(expert, x):
    return expert(x) + 1


experts = [Expert(16), Expert(16), Expert(24)]
for n in (4, 4, 6):
    for expert in experts:
        run(expert, torch.randn(n, 8))
