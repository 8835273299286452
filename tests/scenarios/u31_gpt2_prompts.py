import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=64, n_positions=64, n_embd=32, n_layer=2, n_head=4, use_cache=False)
model = GPT2LMHeadModel(config).eval()
compiled = torch.compile(model, backend="eager")
with torch.no_grad():
    for batch, length in ((2, 8), (2, 11), (2, 17), (3, 9), (4, 30)):
        compiled(input_ids=torch.randint(0, 64, (batch, length)))
