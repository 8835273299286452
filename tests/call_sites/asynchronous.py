# f: L['x'] 0
import asyncio
import torch

@torch.compile
def f(x):
    return x

async def load():
    return torch.randn(4)

async def main():
    return f(await load())  # call

asyncio.run(main())
