# f: L['x'] 0
import asyncio
import torch

@torch.compile
def f(x):
    return x

async def load():
    return torch.randn(4)

async def main():
    x = await load()
    torch._dynamo.mark_dynamic(x, 0)
    return f(x)  # call

asyncio.run(main())
