# f: L['x'] 0
import torch as th

@th.compile
def f(x):
    return x

f(th.randn(4))  # call
