import torch


def make(scale):
    class Config:
        pass

    Config.scale = scale
    return Config()


@torch.compile(backend="eager")
def apply(config, x):
    return x * config.scale


for _ in range(10):
    apply(make(2), torch.ones(3))
