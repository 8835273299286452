"""Causes from guards that are Python expressions.

Built by `GuardBuilder` in torch/_dynamo/guards.py, and for relations between symbols by
`produce_guards_verbose` in torch/fx/experimental/symbolic_shapes.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pgo_advisor.dynamo.causes import Cause, CauseKind
from pgo_advisor.dynamo.guard_text import (
    SOURCE_FUNCTION,
    closing,
    read_source,
    split_arguments,
    whole_source,
)
from pgo_advisor.dynamo.shape_guards import Relation, parse_relation
from pgo_advisor.dynamo.sources import SourceDim, tensor_property


def guard_cause(guard: str, comment: str) -> Cause:
    """The cause that an expression which was false tells. Raises `guard_text.Unbalanced`."""
    return _call(guard) or _about_source(guard, comment) or _symbolic(guard, comment)


_FUNCTION = re.compile(r"(not )?([_a-zA-Z][\w.]*)\(")


def _call(guard: str) -> Cause | None:
    """Guards that are a call, `len(…) == 2` as well."""
    if guard.startswith("((") and "_dynamo_" in guard:  # ((getattr(SRC, '_dynamo_…
        marked = read_source(guard.removeprefix("((").removeprefix("getattr("))
        name = marked[0].partition("._dynamo_")[0] if marked else None
        return Cause(CauseKind.marking_changed, name)
    if guard.startswith("(type("):  # (type(SRC) is float and __math_isnan(SRC))
        end = closing(guard, len("(type"))
        kind = (
            CauseKind.float_value
            if guard.startswith(" is float and ", end)
            else CauseKind.constant_value
        )
        return Cause(kind, whole_source(guard[len("(type(") : end - 1]), expected="nan")
    if guard.startswith(("___check_metadata_", "__dtensor_spec_")):
        return Cause(CauseKind.tensor_type)
    if guard.startswith("___check_opaque_guard_fn_"):
        return Cause(CauseKind.constant_value)
    function = _FUNCTION.match(guard)
    parse = _CALLS.get(function[2]) if function else None
    if function is None or parse is None:
        return None
    end = closing(guard, function.end() - 1)
    return parse(guard[function.end() : end - 1], guard[end:], function[1] is not None)


def _first(arguments: str) -> str | None:
    found = read_source(arguments)
    return found[0] if found else None


_TENSORS = {"torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer"}
_BY_CLASS = {"NoneType": CauseKind.none_value, "bool": CauseKind.bool_value}


def _class(tail: str) -> str | None:
    _, found, name = tail.partition(", type=")
    return name.removeprefix("<class '").removesuffix("'>") if found else None


def _check_type(arguments: str, tail: str, _: bool) -> Cause:
    expected = _class(tail)
    kind = CauseKind.tensor_type if expected in _TENSORS else CauseKind.object_type
    if expected == "NoneType":
        kind = CauseKind.none_value
    return Cause(kind, _first(arguments), expected=expected)


def _check_identity(arguments: str, tail: str, _: bool) -> Cause:
    name, expected = _first(arguments), _class(tail)
    if name and (key := _KEY.fullmatch(name)):
        return Cause(CauseKind.dict_keys, key[1], expected=expected)
    kind = _BY_CLASS.get(expected or "", CauseKind.object_identity)
    if name and expected is None and name.endswith(".training"):
        kind = CauseKind.bool_value  # 2.6 and 2.7 compare True, False and None by identity
    return Cause(kind, name, expected=None if kind is CauseKind.bool_value else expected)


_KEY = re.compile(r"list\(dict\.keys\((.*)\)\)\[\d+\]", re.DOTALL)
_EQUALS = re.compile(r"(?:\[\d+\])? == (.*)", re.DOTALL)


def _list(arguments: str, tail: str, _: bool) -> Cause | None:
    """`list(dict.keys(SRC))[0] == key`, `list(SRC.keys()) == keys`."""
    equals = _EQUALS.fullmatch(tail)
    if arguments.startswith("dict.keys(") and arguments.endswith(")"):
        name = whole_source(arguments[len("dict.keys(") : -1])
    elif arguments.endswith(".keys()"):
        name = whole_source(arguments.removesuffix(".keys()"))
    else:
        return None
    return Cause(CauseKind.dict_keys, name, expected=equals[1]) if equals and name else None


def _contains(arguments: str, _: str, absent: bool) -> Cause:
    """`___dict_contains(key, SRC)`; on an object's own `__dict__` an attribute is meant."""
    key, container = split_arguments(arguments)
    name = whole_source(container)
    expected = f"{key} {'absent' if absent else 'present'}"
    if name and name.endswith(".__dict__"):
        return Cause(
            CauseKind.attribute_presence, name.removesuffix(".__dict__"), expected=expected
        )
    return Cause(CauseKind.dict_keys, name, expected=expected)


def _set_contains(arguments: str, _: str, absent: bool) -> Cause:
    found = read_source(arguments)
    item = arguments[found[1] :].removeprefix(", ") if found else ""
    expected = f"{item} {'absent' if absent else 'present'}"
    return Cause(CauseKind.dict_keys, found[0] if found else None, expected=expected)


def _has_attribute(arguments: str, _: str, absent: bool) -> Cause:
    attribute = split_arguments(arguments)[1]
    if attribute.startswith("'_dynamo_"):
        return Cause(CauseKind.marking_changed, _first(arguments))
    expected = f"{attribute} {'absent' if absent else 'present'}"
    return Cause(CauseKind.attribute_presence, _first(arguments), expected=expected)


def _length(arguments: str, tail: str, _: bool) -> Cause:
    # guards.cpp prints what it found wrong, `len(SRC) != 2`, and expects the 2 all the same
    return Cause(CauseKind.container_length, _first(arguments), expected=tail[4:] or None)


def _valued(kind: CauseKind) -> Callable[[str, str, bool], Cause]:
    return lambda arguments, tail, _: Cause(kind, _first(arguments), expected=tail[4:] or None)


def _is_nan(kind: CauseKind) -> Callable[[str, str, bool], Cause]:
    return lambda arguments, _, absent: Cause(
        kind, _first(arguments), expected="not nan" if absent else "nan"
    )


def _converted(arguments: str, tail: str, _: bool) -> Cause | None:
    """`int(SRC) == 2`: a subclass of a constant type (2.12)."""
    name = whole_source(arguments)
    if name is None or not tail.startswith(" == "):
        return None
    return Cause(_literal_kind(tail[4:]) or CauseKind.constant_value, name, expected=tail[4:])


def _set_of_keys(arguments: str, tail: str, _: bool) -> Cause | None:
    """`set(SRC.keys()) == keys`, up to 2.0."""
    name = whole_source(arguments.removesuffix(".keys()"))
    found = name and arguments.endswith(".keys()") and tail.startswith(" == ")
    return Cause(CauseKind.dict_keys, name, expected=tail[4:]) if found else None


def _is_instance(arguments: str, tail: str, _: bool) -> Cause | None:
    """`isinstance(SRC, class)`."""
    first, expected = split_arguments(arguments)
    name = whole_source(first)
    return Cause(CauseKind.object_type, name, expected=expected) if name and not tail else None


_CALLS: dict[str, Callable[[str, str, bool], Cause | None]] = {
    "___check_type_id": _check_type,
    "___check_fake_script_type": _check_type,
    "___check_obj_id": _check_identity,
    "__check_obj_id": _check_identity,
    "___dict_contains": _contains,
    "set.__contains__": _set_contains,
    "___dict_version": _valued(CauseKind.dict_keys),
    "___key_to_id": _valued(CauseKind.dict_keys),
    "list": _list,
    "set": _set_of_keys,
    "isinstance": _is_instance,
    "hasattr": _has_attribute,
    "len": _length,
    "set.__len__": _length,
    "frozenset.__len__": _length,
    "___tuple_iterator_len": _length,
    "___normalize_range_iter": _length,
    "___normalize_count_iter": _valued(CauseKind.constant_value),
    "___cow_tensor_matches": lambda arguments, *_: Cause(CauseKind.aliasing, _first(arguments)),
    "__math_isnan": _is_nan(CauseKind.float_value),
    "math.isnan": _is_nan(CauseKind.float_value),
    "__numpy_isnan": _is_nan(CauseKind.constant_value),
    **dict.fromkeys(("int", "float", "str", "bool", "complex", "bytes"), _converted),
}


_SYMBOLIC_VALUE = re.compile(r"\.(?:size|stride)\(\)\[\d|\.storage_offset\(\)")
# The code of PyTorch that made a relation stands at its end, as `(_dynamo/…:2606 in evaluate_expr)`
_OF_SYMBOLS = re.compile(r"\([^()]+:\d+ in \w+\)$|duck sizing|please file a bug\)$|exclusion guard")


def _about_source(guard: str, comment: str) -> Cause | None:
    """`SRC == value`, `SRC is OTHER`, `not SRC`."""
    if guard.startswith("not "):
        name = whole_source(guard.removeprefix("not "))
        return Cause(CauseKind.container_length, name, expected="0") if name else None
    found = read_source(guard)
    if found is None:
        return None
    name, rest = found[0], guard[found[1] :]
    if rest == " is None":
        return Cause(CauseKind.none_value, name, expected="None")
    if rest == " is not None":
        if name.endswith("()") or "weakref" in name:
            return Cause(CauseKind.weakref_dead, name)
        return Cause(CauseKind.none_value, name, expected="not None", actual="None")
    if rest.startswith(" is "):
        return Cause(CauseKind.aliasing, name, expected=f"is {_first(rest.split(' is ')[1])}")
    if not rest.startswith(" == "):
        return None
    value = rest[4:]
    if name.endswith(".raw_repr()"):
        name = name.removesuffix(".raw_repr()")
        return Cause(CauseKind.tensor_dispatch_keys, name, expected=value)
    if name.endswith(".data_ptr()"):
        return Cause(CauseKind.object_identity, name.removesuffix(".data_ptr()"))
    if tensor_property(name) or name.endswith(".storage_offset()"):
        return None
    kind = _literal_kind(value)
    if kind is None and (_SYMBOLIC_VALUE.search(value) or _OF_SYMBOLS.search(comment)):
        return None
    return Cause(kind or CauseKind.constant_value, name, expected=value)


_INT = re.compile(r"-?\d+|(?:np|numpy)\.u?int\d+\(-?\d+\)")
_FLOAT = re.compile(r"-?(?:\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+|inf|nan)|(?:np|numpy)\.float\d+\(.*")


def _literal_kind(value: str) -> CauseKind | None:
    """What a literal's text is; None where it is no number, string, bool or None."""
    if value[:1] in ("'", '"'):
        return CauseKind.string_value
    if value in ("True", "False"):
        return CauseKind.bool_value
    if value == "None":
        return CauseKind.none_value
    if _INT.fullmatch(value):
        return CauseKind.int_value
    return CauseKind.float_value if _FLOAT.fullmatch(value) else None


_NUMBER = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|math\.inf)"
_ATOM = re.compile(
    rf"{_NUMBER.removeprefix('-?')}|(?:and|or|not|if|else|True|False)\b|math\.nan"
    r"|(?:(?:math|torch)\.)?[A-Za-z_]\w*(?=\()"
)
_INDEX_BOUND = re.compile(r"[^<>=!]* <=? 214748364[78]")
"""Elements that 32 bits count: `SIMDScheduling.can_use_32bit_indexing` in torch/_inductor/codegen/simd.py."""
_BOUNDS = re.compile(rf"(?:({_NUMBER}) (<=?) )?\$(?: (<=?|>=?|!=|==) ({_NUMBER}))?")
_COMPARISON = re.compile(r"[<>=!]=|[<>]")
_FLIPPED = {"<": ">", "<=": ">="}


def _symbolic(guard: str, comment: str) -> Cause:
    """A relation between sizes and numbers: what kind it is, and of which."""
    relation, names = _skeleton(guard)
    if not names or not _COMPARISON.search(relation):
        return Cause(CauseKind.unknown)
    found = tensor_property(names[0])
    source, dim = found[1] if found else SourceDim(names[0])
    kind, expected = CauseKind.symbolic_relation, None
    floats = None if dim is not None else _float_equality(guard, names)
    if floats is not None:
        value = floats.solved()
        kind, expected = CauseKind.float_value, None if value is None else f"{value:.12g}"
    elif dim is not None and _INDEX_BOUND.fullmatch(relation):
        kind = CauseKind.index_width
    elif bounds := _BOUNDS.fullmatch(relation):
        lower, below, operator, upper = bounds.groups()
        only_zero_one = (
            lower == "2"
            and dim is not None
            and (upper is None or (operator == "<=" and len(upper) >= 18))
            and (not comment or "0/1 specialization" in comment)
        )
        kind = CauseKind.zero_one if only_zero_one else CauseKind.symbolic_range
        sides = [f"{_FLIPPED[below]} {lower}"] if lower else []
        expected = ", ".join(sides + ([f"{operator} {upper}"] if upper else []))
    elif relation == "$ == $" or "duck sizing" in comment:
        kind = CauseKind.equal_dims
    elif " % " in relation:
        kind = CauseKind.divisibility
        expected = relation.removeprefix("$ ") if relation.startswith("$ % ") else None
    return Cause(kind, source, dim, expected=expected)


def _float_equality(guard: str, names: list[str]) -> Relation | None:
    """An equality of an expression in one float with a constant: it asks that float's value.

    `(1.0 + clip) == 1.19`: torch/fx/passes/_tensorify_python_scalars.py makes the float a constant, and the
    guard is on the last expression in it. None for any other relation.
    """
    relation = parse_relation(guard)
    if relation is None or len(set(names)) != 1 or len(relation.names) != 1:
        return None
    return relation if relation.constant_side() is not None else None


def _skeleton(guard: str) -> tuple[str, list[str]]:
    """The relation without its parentheses, each source as `$`, and the sources."""
    parts, names, position = [], [], 0
    while position < len(guard):
        atom = None if SOURCE_FUNCTION.match(guard, position) else _ATOM.match(guard, position)
        if atom:
            parts.append(atom[0])
            position = atom.end()
        elif found := read_source(guard, position):
            parts.append("$")
            names.append(found[0])
            position = found[1]
        else:
            parts.append(guard[position] if guard[position] not in "()" else "")
            position += 1
    return "".join(parts), names
