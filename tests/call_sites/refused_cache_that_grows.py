# f: L['cache'].layers[0].keys 2 lacking
import torch

@torch.compile
def f(cache):
    return cache.layers

class Cache:
    def __init__(self):
        self.layers = []

cache = Cache()
for n in (4, 5):
    # refused: it may not be there
    f(cache)  # call
