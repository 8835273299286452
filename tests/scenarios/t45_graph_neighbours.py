import torch


@torch.compile(backend="eager")
def aggregate(x, edge_index, edge_weight):
    messages = x[edge_index[0]] * edge_weight[:, None]
    return torch.zeros_like(x).index_add(0, edge_index[1], messages)


torch.manual_seed(0)
for nodes, edges in ((10, 24), (13, 31), (13, 40), (9, 22)):
    aggregate(torch.randn(nodes, 4), torch.randint(0, nodes, (2, edges)), torch.rand(edges))
