import torch


class Trainer:
    def __init__(self):
        self.step = 3
        self.state = torch.zeros(4)

    @torch.compile(backend="eager")
    def update(self, x):
        return self.state + x.mean(0) * self.step


t = Trainer()
for n in (8, 8, 8, 12, 20):
    t.update(torch.randn(n, 4))
    t.step += 2
