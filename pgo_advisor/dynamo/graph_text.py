"""`dynamo_output_graph`: which operations a compile traced, and for which of the user's lines.

Printed by `torch/fx/graph_module.py`, `_print_readable`, through `torch/_dynamo/output_graph.py`.
"""

from __future__ import annotations

import hashlib
import re

_LINE = re.compile(r"\s*# File: (.*?:\d+) in ")
_TENSOR_STATEMENT = re.compile(r'\s*\w+: "[a-z]+\d\w*\[.*?" = (.*)')
_CALL = re.compile(r"([\w.]+)\(")
_OPERATOR = re.compile(r" (\*\*|//|<<|>>|[-+*/%@&|^<>]|[=!<>]=) ")


def graph_path(text: str) -> str:
    """A digest of (user's line, operation) of the tensor statements, in their order.

    Two compiles of one function with different paths took different branches, if the same sizes were
    symbols in both; arithmetic on sizes and the sizes themselves are left out.
    """
    digest = hashlib.blake2b(digest_size=8)
    line = ""
    for text_line in text.split("\n"):
        if match := _LINE.match(text_line):
            line = match[1]
        elif match := _TENSOR_STATEMENT.match(text_line):
            digest.update(f"{line}|{_operation(match[1])}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _operation(right_side: str) -> str:
    if call := _CALL.match(right_side):
        target = call[1]
        return target if target.startswith("torch.") else target.rpartition(".")[2]
    if operator := _OPERATOR.search(right_side):
        return operator[1]
    return "getitem"
