import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
lin = torch.nn.Linear(8, 8)


@torch.compile(backend="eager")
def step(batch, mask):
    return (lin(batch) * mask[..., None]).sum()


lengths = ((6, 9, 12), (6, 6, 6))[rank]
for n in lengths:
    loss = step(torch.randn(2, n, 8), torch.ones(2, n))
    loss.backward()
    dist.all_reduce(lin.weight.grad)
dist.barrier()
dist.destroy_process_group()
