import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
config = T5Config(
    vocab_size=64,
    d_model=32,
    d_kv=8,
    d_ff=64,
    num_layers=1,
    num_heads=4,
    decoder_start_token_id=0,
)
model = T5ForConditionalGeneration(config).eval()
compiled = torch.compile(model, backend="eager")
with torch.no_grad():
    for source, target in ((10, 6), (13, 6), (13, 8), (18, 11)):
        compiled(
            input_ids=torch.randint(0, 64, (2, source)),
            decoder_input_ids=torch.randint(0, 64, (2, target)),
            use_cache=False,
        )
