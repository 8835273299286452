import torch


@torch.compile(backend="eager")
def rms_norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


w_model, w_head = torch.ones(16), torch.ones(4)


def decoder(hidden):
    hidden = rms_norm(hidden, w_model)
    heads = hidden.view(*hidden.shape[:-1], 4, 4)
    q = rms_norm(heads, w_head)
    return q.flatten(-2)


for length in (5, 7, 11):
    decoder(torch.randn(2, length, 16))
