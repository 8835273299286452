"""PyTorch's terms that the page uses, each in a sentence."""

TERMS = {
    "compile": "PyTorch turned a function into a graph and code for it; the call waited for that.",
    "recompile": "A compile of a function that was compiled before: no graph of it took the call.",
    "dynamic": "A dynamic size is open in the graph: one graph takes all its values.",
    "mark_dynamic": "Declares a dim of a tensor dynamic. It raises where code needs one fixed size.",
    "maybe_mark_dynamic": "Like mark_dynamic, but ignored where code needs one fixed size.",
    "dynamic sources": "TORCH_COMPILE_DYNAMIC_SOURCES, inputs that are dynamic from the first compile on.",
    "recompile limit": "The most graphs of one function. A call that needs one more runs uncompiled.",
    "uncompiled": "Run as plain PyTorch, eagerly, without a graph.",
    "compile id": "0/2 is the third compile of the function with number 0.",
    "torch_dynamo_resume": "A function of this name is the part after a graph break.",
    "graph break": "Where PyTorch ends a graph and lets Python go on.",
    "rank": "A process of a distributed job.",
    "rank-seconds": "Seconds added up over ranks, which compile at the same time: the slowest counts.",
    "Dynamo": "Reads the Python code and makes the graph.",
    "AOTAutograd": "Makes the graph for the backward pass, and simplifies both.",
    "Inductor": "Turns the graph into kernels.",
    "other backend": "The backend that torch.compile was given instead of Inductor.",
    "backward": "Compiling the backward graph, at the first backward().",
}
