import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = True


@torch.compile(backend="eager", fullgraph=True)
def compact(x):
    idx = x.nonzero()
    return x[idx[:, 0]] * 2


for n, ones in ((8, 3), (8, 5), (10, 4), (12, 7)):
    x = torch.zeros(n)
    x[:ones] = 1
    compact(x)
