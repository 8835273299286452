import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3))
opt = torch.optim.AdamW(net.parameters(), lr=0.01)
sched = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.5, total_iters=6)
step = torch.compile(opt.step, backend="eager")
for _ in range(5):
    opt.zero_grad()
    net(torch.randn(2, 4)).sum().backward()
    step()
    sched.step()
