# update: L['x'] 0
import torch

class Trainer:
    @torch.compile
    def update(self, x):
        return x

class Loop:
    def __init__(self):
        self.t = Trainer()

    def run(self, items):
        for item in items:
            self.t.update(item["x"].sum())  # call

Loop().run([{"x": torch.randn(4, 2)}])
