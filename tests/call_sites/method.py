# step: L['x'] 0
import torch

class Trainer:
    @torch.compile
    def step(self, x):
        return x

t = Trainer()
t.step(torch.randn(4))  # call
