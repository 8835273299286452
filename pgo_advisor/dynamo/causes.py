"""What a failed guard means: the kinds of causes of a recompile, and one cause."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class CauseKind(str, Enum):
    """What changed between the earlier graph and the call that it refused."""

    tensor_size = "tensor-size"
    tensor_rank = "tensor-rank"
    tensor_stride = "tensor-stride"
    tensor_dtype = "tensor-dtype"
    tensor_device = "tensor-device"
    tensor_requires_grad = "tensor-requires-grad"
    tensor_dispatch_keys = "tensor-dispatch-keys"
    tensor_type = "tensor-type"
    int_value = "int-value"
    float_value = "float-value"
    bool_value = "bool-value"
    string_value = "string-value"
    none_value = "none-value"
    constant_value = "constant-value"
    container_length = "container-length"
    dict_keys = "dict-keys"
    zero_one = "zero-one"
    symbolic_range = "symbolic-range"
    equal_dims = "equal-dims"
    divisibility = "divisibility"
    symbolic_relation = "symbolic-relation"
    index_width = "index-width"
    object_identity = "object-identity"
    object_type = "object-type"
    attribute_presence = "attribute-presence"
    weakref_dead = "weakref-dead"
    grad_mode = "grad-mode"
    global_state = "global-state"
    aliasing = "aliasing"
    backend_changed = "backend-changed"
    marking_changed = "marking-changed"
    entry_deleted = "entry-deleted"
    recompile_limit = "recompile-limit"
    not_in_text = "not-in-text"
    unknown = "unknown"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a graph refused a call, as far as the guard that failed first tells.

    `source` is the canonical name, always with `L[…]`; a text since 2.7 has `x` for `L['x']`.
    `dim` is the size's or stride's index. `expected` and `actual` are texts, None where the guard
    does not tell; `actual` names the fields of the global state that changed (`grad_mode`,
    `autocast(cpu)_enabled`, …). `guard` is the Python expression that failed, without its comment.
    Of a symbolic guard `source` and `dim` are the size or number that it names first.
    `user_line` and `user_location` (`app/f.py:4 in g`) are the code that the guard comes from.
    `on_parameter` tells that PyTorch itself calls the tensor a parameter.

    Four kinds need a word. `index_width` is Inductor's: it counts a tensor's elements in 32 bits or in 64,
    and needs a graph for each. `zero_one` is only what a size of 0 or 1 can fail: `2 <= x.size()[0]`
    that PyTorch explains as 0/1 specialization, or does not explain. With an upper bound the size
    decides, which the text does not tell, so that is `symbolic_range`. `grad_mode` is the grad
    mode alone; if other fields changed as well, it is `global_state`. A tensor on another device
    fails its dispatch keys first; keys of different devices are `tensor_device`.
    """

    kind: CauseKind
    source: str | None = None
    dim: int | None = None
    expected: str | None = None
    actual: str | None = None
    guard: str | None = None
    user_line: str | None = None
    user_location: str | None = None
    on_parameter: bool = False
