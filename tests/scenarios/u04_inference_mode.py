import torch


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.lin(x).softmax(-1)


head = torch.compile(Head().eval(), backend="eager")
with torch.inference_mode():
    head(torch.randn(4, 8))
with torch.no_grad():
    head(torch.randn(4, 8))
with torch.inference_mode():
    made_in_inference_mode = torch.randn(4, 8)
    head(made_in_inference_mode)
with torch.no_grad():
    head(made_in_inference_mode)
