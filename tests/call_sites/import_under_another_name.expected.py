# f: L['x'] 0
import torch as th

@th.compile
def f(x):
    return x

x = th.randn(4)
th._dynamo.mark_dynamic(x, 0)
f(x)  # call
