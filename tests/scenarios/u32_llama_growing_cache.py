import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
)
model = LlamaForCausalLM(config).eval()
compiled = torch.compile(model, backend="eager")
cache = DynamicCache(config=config)
ids = torch.randint(0, 64, (1, 6))
with torch.no_grad():
    for _ in range(5):
        out = compiled(input_ids=ids, past_key_values=cache, use_cache=True)
        ids = out.logits[:, -1:].argmax(-1)
