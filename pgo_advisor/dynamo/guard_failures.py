"""Causes of recompiles: what the text of a failed guard says.

The texts were listed from PyTorch 2.6, 2.8, 2.10, 2.12.1, 2.13 and 2.14.1: the guard builders and
`get_guard_fail_reason_helper` in torch/_dynamo/guards.py, `check_verbose` and its kin in
torch/csrc/dynamo/guards.cpp, `produce_guards_verbose` in torch/fx/experimental/symbolic_shapes.py.
Recordings of 2.7.1, 2.13 and 2.15 agree with them. This module reads what guards.cpp composes, the
other guards are Python expressions.

Texts come from traces, so they are hostile: reading one takes linear time, evaluates nothing and
never raises. What matches nothing is `unknown` and kept as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from pgo_advisor.dynamo.causes import Cause, CauseKind
from pgo_advisor.dynamo.guard_expressions import guard_cause
from pgo_advisor.dynamo.guard_text import Unbalanced, origin, read_source, split_comment

__all__ = ["Cause", "CauseKind", "Failure", "parse_failure", "parse_failures"]


@dataclass(frozen=True, slots=True)
class Failure:
    """One reason of a recompile: `against` is the compile id (`0/3`, `!1/0/3`) of the graph that
    refused, None where the text has none; `text` is the reason as it was written.
    """

    against: str | None
    cause: Cause
    text: str


_AGAINST = re.compile(r"((?:!\d+/|\[\d+/\])?\d+/\d+(?:_\d+)?|!\d+|None): ")
_STACK = "\nUser stack trace:\n"
_ON_PARAMETER = ". Guard failed on a parameter, consider using "


def parse_failures(payload: str) -> list[Failure]:
    """The reasons in a `recompile_reasons` artifact, most recently used graph first.

    A JSON list of texts; since 2.11 a single reason is the text itself. Never raises.
    """
    try:
        reasons = json.loads(payload)
    except (ValueError, RecursionError):
        reasons = None
    if not isinstance(reasons, list) or not all(isinstance(reason, str) for reason in reasons):
        reasons = [payload.rstrip("\n")] if payload.strip() else []
    return [parse_failure(reason) for reason in reasons]


def parse_failure(text: str) -> Failure:
    """Read one reason. Never raises: what is not understood is of kind `unknown`."""
    against = _AGAINST.match(text)
    body, _, stack = text[against.end() if against else 0 :].partition(_STACK)
    body, on_parameter, _ = body.partition(_ON_PARAMETER)
    try:
        cause = _cause(body)
    except Unbalanced:
        cause = Cause(CauseKind.unknown)
    if on_parameter:
        cause = replace(cause, on_parameter=True)
    if stack and cause.user_location is None:
        line, location = _innermost(stack)
        cause = replace(cause, user_line=line, user_location=location)
    return Failure(None if against is None or against[1] == "None" else against[1], cause, text)


_FRAME = re.compile(r'  File "(.*)", line (\d+), in (.*)', re.DOTALL)


def _innermost(stack: str) -> tuple[str | None, str | None]:
    """The last frame's line and location (`format_user_stack_trace` in torch/_dynamo/guards.py)."""
    lines = stack.splitlines()
    for index in range(len(lines) - 1, -1, -1):
        if frame := _FRAME.fullmatch(lines[index]):
            line = lines[index + 1].strip() if index + 1 < len(lines) else None
            return line, f"{frame[1]}:{frame[2]} in {frame[3]}"
    return None, None


def _cause(body: str) -> Cause:
    for prefix, parse in _MESSAGES.items():
        if body.startswith(prefix):
            return parse(body[len(prefix) :])
    if (missing := _NO_ATTRIBUTE.match(body)) is not None:
        return _no_attribute(missing[1], missing[2])
    guard, comment = split_comment(body)
    line, location = origin(comment)
    cause = guard_cause(guard, comment)
    return replace(cause, guard=guard or None, user_line=line, user_location=location)


_TENSOR = re.compile(
    r"' (?:(?P<what>size|stride)s? mismatch at index (?P<dim>\d+)|(?P<other>rank|dtype) mismatch"
    r"|(?P<keys>dispatch key set) mismatch|(?P<device>Tensor device index) mismatch"
    r"|(?P<grad>requires_grad) mismatch)\. "
)
_SIDES = re.compile(r"[Ee]xpected (?:device index to be )?(.*), actual (.*)", re.DOTALL)
_DEVICES = {"CPU", "CUDA", "HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "Meta"}
_DEVICES |= {"MAIA", "PrivateUse1", "PrivateUse2", "PrivateUse3"}
_FIRST_KEY = re.compile(r"DispatchKeySet\((\w+)")


def _leading_source(text: str) -> tuple[str, int] | None:
    """The source name that a text begins with. A key's own `repr` may leave a quote open."""
    try:
        return read_source(text)
    except Unbalanced:
        return None


def _tensor(rest: str) -> Cause:
    found = _leading_source(rest)
    detail = _TENSOR.match(rest, found[1]) if found else None
    if detail is None:
        found, detail = None, _TENSOR.search(rest)
    if detail is None:
        return Cause(CauseKind.unknown)
    source = found[0] if found else None
    tail = rest[detail.end() :]
    if detail["grad"]:
        expected = tail.removeprefix("expected requires_grad=") not in ("0", "False")
        return Cause(
            CauseKind.tensor_requires_grad,
            source,
            expected=str(expected),
            actual=str(not expected),
        )
    sides = _SIDES.fullmatch(tail)
    expected_text, actual = (sides[1], sides[2]) if sides else (None, None)
    kind = CauseKind.tensor_device
    if detail["what"] or detail["other"]:
        kind = CauseKind(f"tensor-{detail['what'] or detail['other']}")
    elif detail["keys"]:
        kind = CauseKind.tensor_dispatch_keys
        devices = [_FIRST_KEY.match(side or "") for side in (expected_text, actual)]
        names = [device[1] for device in devices if device]
        if len(names) == 2 and names[0] != names[1] and _DEVICES.issuperset(names):
            kind, (expected_text, actual) = CauseKind.tensor_device, names
    dim = int(detail["dim"]) if detail["dim"] and len(detail["dim"]) < 5 else None
    return Cause(kind, source, dim, expected_text, actual)


def _expected_tensor(rest: str) -> Cause:
    """`TENSOR_MATCH` in guards.cpp; since 2.15 with the type that was expected."""
    name, _, types = rest.rpartition("' to be ")
    if not types.startswith(("a tensor type", "<class '")):
        return Cause(CauseKind.tensor_type)
    source = _leading_source(name)
    wanted, _, met = types.partition("but found <class '")
    kind, actual = CauseKind.tensor_type, met.rpartition("'>")[0] or None
    if actual == "NoneType":
        kind, actual = CauseKind.none_value, "None"
    expected = wanted.partition("<class '")[2].partition("'>")[0]
    if expected in ("", "torch.Tensor"):
        expected = "a tensor"
    return Cause(kind, source[0] if source else None, expected=expected, actual=actual)


def _global_state(rest: str) -> Cause:
    fields = rest.split()
    kind = CauseKind.grad_mode if fields == ["grad_mode"] else CauseKind.global_state
    return Cause(kind, actual=", ".join(fields))


_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)


def _duplicates(rest: str) -> Cause:
    """`["x", "d['k']"], […]`: `recompilation_reason_for_no_tensor_aliasing_guard`."""
    first = _QUOTED.match(rest, 1)
    source = _leading_source(first[0][1:-1].replace("\\'", "'")) if first else None
    return Cause(
        CauseKind.aliasing, source[0] if source else None, expected="distinct tensors", actual=rest
    )


def _with_source(kind: CauseKind, expected: str | None = None) -> Callable[[str], Cause]:
    """For texts that end with a source name, in brackets or not."""

    def parse(rest: str) -> Cause:
        found = _leading_source(rest.lstrip())
        return Cause(kind, found[0] if found else None, expected=expected)

    return parse


def _only(kind: CauseKind, actual: str | None = None) -> Callable[[str], Cause]:
    return lambda rest: Cause(kind, actual=actual)


def _backend(rest: str) -> Cause:
    sides = rest.partition(". Cached backend: ")[2].partition(". If this is unexpected")[0]
    expected, _, actual = sides.partition(". New backend: ")
    return Cause(CauseKind.backend_changed, expected=expected or None, actual=actual or None)


def _marking(rest: str) -> Cause:
    """`DIMENSION_DYNAMIC_MARKING_GUARD` in guards.cpp, 2.13; it does not name the tensor."""
    runtime, subset, compiled = rest.partition(" is not a subset of compiled ")
    if subset:
        return Cause(
            CauseKind.marking_changed, expected=compiled, actual=runtime.partition("runtime ")[2]
        )
    expected = rest.partition("expected ")[2].partition(" but attribute")[0]
    return Cause(CauseKind.marking_changed, expected=expected or None)


_MESSAGES: dict[str, Callable[[str], Cause]] = {
    "tensor '": _tensor,
    "expected type of '": _expected_tensor,
    "GLOBAL_STATE changed: ": _global_state,
    "Duplicate tensors found: ": _duplicates,
    "Duplicate tensor found where not expected! ": _only(CauseKind.aliasing),
    "check_overlapping(": _only(CauseKind.aliasing),
    "TYPE_MISMATCH(": _with_source(CauseKind.object_type),
    "KeyError on ": _with_source(CauseKind.dict_keys),
    "IndexError on ": _with_source(CauseKind.container_length),
    "getattr failed on source ": _with_source(CauseKind.attribute_presence, "present"),
    "not a tensor - grad field is accessed ": _with_source(CauseKind.tensor_type, "a tensor"),
    "not a tensor": _with_source(CauseKind.tensor_type, "a tensor"),
    "tensor has too few dimensions": _with_source(CauseKind.tensor_rank),
    "Not a weakref obj ": _with_source(CauseKind.object_type, "a weakref"),
    "Not a weakref ": _with_source(CauseKind.object_type, "a weakref"),
    "Weakref_GetRef failed ": _with_source(CauseKind.weakref_dead),
    "Not a callable obj ": _with_source(CauseKind.object_type, "a callable"),
    "null type dict on ": _with_source(CauseKind.object_type),
    '"Shape guard failed with values: ': _only(CauseKind.symbolic_relation),
    "Shape guard failed with values: ": lambda rest: Cause(
        CauseKind.symbolic_relation, actual=rest
    ),
    "list index out of range": _only(CauseKind.container_length),
    "tuple index out of range": _only(CauseKind.container_length),
    "BACKEND_MATCH failure:": _backend,
    "Cache line invalidated because ": _with_source(CauseKind.entry_deleted),
    "Unexpected recompilation: ": _only(CauseKind.unknown),
    "_dynamo_": _marking,
    "_has_dynamo_dim_marking ": _marking,
    "___check_torch_function_mode_stack()": _only(CauseKind.global_state, "torch_function_modes"),
    "___check_global_state()": _only(CauseKind.global_state),
    "utils_device.CURRENT_DEVICE ": _only(CauseKind.global_state, "default_device"),
    "torch.autograd.forward_ad.": _only(CauseKind.global_state, "forward_ad_level"),
    "torch._functorch.pyfunctorch.": _only(CauseKind.global_state, "functorch_stack"),
    "torch._functorch.aot_autograd.": _only(CauseKind.global_state, "saved_tensors_hooks"),
    "torch._dynamo hit config.": _only(CauseKind.recompile_limit),
    "recompile_limit reached": _only(CauseKind.recompile_limit),
    "accumulated_recompile_limit reached": _only(CauseKind.recompile_limit),
    "cache_size_limit reached": _only(CauseKind.recompile_limit),
    "Dynamo recompile limit exceeded": _only(CauseKind.recompile_limit),
}
_NO_ATTRIBUTE = re.compile(r"'([^'\n]+)' object has no attribute '([^'\n]+)'")


def _no_attribute(owner: str, attribute: str) -> Cause:
    """An exception in the guard itself (`LAMBDA_GUARD` in guards.cpp): it says not on what."""
    if owner == "NoneType":
        return Cause(CauseKind.none_value, actual="None")
    if attribute in ("size", "stride", "storage_offset"):
        return Cause(CauseKind.tensor_type, expected="a tensor", actual=owner)
    return Cause(CauseKind.attribute_presence, expected="present")
