import torch

conv = torch.compile(torch.nn.Conv2d(3, 4, 3), backend="eager")
with torch.no_grad():
    conv(torch.randn(2, 3, 8, 8))
    conv(torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last))
    conv(torch.randn(2, 3, 8, 8).transpose(2, 3))
    conv(torch.randn(2, 3, 8, 8))
