import torch
from torch import nn
from torch.nn import functional as F


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(4, 8, 3, padding=1)
        self.down = nn.Conv2d(8, 8, 3, stride=2, padding=1)
        self.dec = nn.Conv2d(16, 4, 3, padding=1)
        self.time = nn.Linear(8, 8)

    def forward(self, latents, t):
        skip = self.enc(latents) + self.time(t)[:, :, None, None]
        low = self.down(skip)
        up = F.interpolate(low, size=skip.shape[-2:], mode="nearest")
        return self.dec(torch.cat([up, skip], 1))


unet = torch.compile(UNet().eval(), backend="eager")
with torch.no_grad():
    for h, w in ((16, 16), (24, 16), (16, 24), (32, 32)):
        unet(torch.randn(2, 4, h, w), torch.randn(2, 8))
