import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=64,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    num_labels=3,
)
model = BertForSequenceClassification(config).train()
compiled = torch.compile(model, backend="eager")
for longest in (12, 9, 16, 7):
    lengths = torch.tensor([longest, longest - 2, longest - 4, 3])
    mask = (torch.arange(longest)[None] < lengths[:, None]).long()
    ids = torch.randint(0, 64, (4, longest)) * mask
    out = compiled(input_ids=ids, attention_mask=mask, labels=torch.tensor([0, 1, 2, 0]))
    out.loss.backward()
