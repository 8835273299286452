# step: L['x'] 0
import torch

class Trainer:
    @torch.compile
    def step(self, x):
        return x

t = Trainer()
x = torch.randn(4)
torch._dynamo.mark_dynamic(x, 0)
Trainer.step(t, x)  # call
