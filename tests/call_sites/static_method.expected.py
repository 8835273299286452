# step: L['x'] 0
import torch

class Trainer:
    @staticmethod
    @torch.compile
    def step(x):
        return x

x = torch.randn(4)
torch._dynamo.mark_dynamic(x, 0)
Trainer.step(x)  # call
