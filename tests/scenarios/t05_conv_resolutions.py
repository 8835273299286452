import torch

net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(4, 2, 3, padding=1)
)


@torch.compile(backend="eager")
def denoise(image):
    return net(image) + image.mean()


with torch.no_grad():
    for h, w in ((32, 32), (48, 48), (40, 64), (33, 47), (24, 24)):
        denoise(torch.randn(2, 3, h, w))
