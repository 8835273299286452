import contextlib

import torch


def f(x, log):
    if log:
        torch._dynamo.graph_break()
    return x + 1


compiled = torch.compile(f, backend="eager", fullgraph=True)
compiled(torch.ones(4), False)
with contextlib.suppress(torch._dynamo.exc.Unsupported):
    compiled(torch.ones(4), True)
