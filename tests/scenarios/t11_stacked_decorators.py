import functools

import torch


def log_call(fn):
    @functools.wraps(fn)
    def logged(*args, **kwargs):
        return fn(*args, **kwargs)

    return logged


def scaled(by):
    def deco(fn):
        @functools.wraps(fn)
        def inner(first, *rest, **options):
            return fn(first * by, *rest, **options)

        return inner

    return deco


@torch.compile(backend="eager")
@log_call
@scaled(2)
def mix(a, b, *, bias, gain=1):
    return a.sum() + b.sum(1) + bias.sum() * gain


for n in (4, 6, 9):
    mix(torch.randn(n), torch.randn(3, 5), bias=torch.randn(2, n), gain=n)
