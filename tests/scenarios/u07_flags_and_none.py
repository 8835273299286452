import torch


@torch.compile(backend="eager")
def attend(q, k, mask=None, causal=False, impl="math"):
    s = q @ k.t()
    if mask is not None:
        s = s + mask
    if causal:
        s = s.tril()
    return s.softmax(-1) if impl == "math" else s.log_softmax(-1).exp()


def call(n, with_mask=False, **kwargs):
    attend(
        torch.randn(n, 8), torch.randn(16, 8), torch.zeros(n, 16) if with_mask else None, **kwargs
    )


call(4)
call(4, with_mask=True)
call(4, causal=True)
call(4, impl="log")
call(5)
call(6, with_mask=True)
call(7, causal=True)
