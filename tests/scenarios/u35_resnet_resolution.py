import torch
from torch import nn


class Basic(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(c_out)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(c_out)
        self.down = nn.Conv2d(c_in, c_out, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (y + self.down(x)).relu()


net = nn.Sequential(
    nn.Conv2d(3, 8, 3, 1, 1),
    Basic(8, 8, 1),
    Basic(8, 16, 2),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(16, 10),
)
compiled = torch.compile(net.eval(), backend="eager")
with torch.no_grad():
    for h, w in ((32, 32), (48, 48), (40, 64), (64, 40)):
        compiled(torch.randn(2, 3, h, w))
