# smooth: L['sig'] 0, L['noise'] 0
import functools

import torch


def timed(function):
    @functools.wraps(function)
    def inner(*given, **named):
        return function(*given, **named)  # call

    return inner


@timed
@torch.compile
def smooth(sig, noise):
    return sig + noise


@timed
def summary(text):
    return text


signal = torch.randn(5)
smooth(signal, torch.randn(5))
summary("done")
