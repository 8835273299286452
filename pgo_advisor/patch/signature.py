"""The compiled function's parameters, and which argument of a call becomes which of its inputs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import libcst as cst

from pgo_advisor.dynamo.sources import Item, Source, Step
from pgo_advisor.patch.source_file import Node, SourceFile, literal, walk

_TORCH_INNER = re.compile(r"[\\/]torch[\\/]_dynamo[\\/]external_utils\.py$")


class NoArgument(Exception):
    """Why no argument of the call is the input, in words."""


@dataclass(frozen=True)
class Bound:
    """The argument of a call that an input comes from.

    `argument` is the node in the call: a value, or with `unpacked` what stands behind `*` or `**`, of which
    `unpacked` is the item. `steps` lead from there to the input. `optional`: it need not be in the mapping.
    """

    argument: cst.Arg
    unpacked: int | str | None
    steps: tuple[Step, ...]
    optional: bool
    name: str
    """What to call it: the parameter's name, or the keyword's."""


@dataclass(frozen=True)
class Parameters:
    """What a function takes. `bound`: the first one is the object that it is called on; None if untold."""

    positional: tuple[str, ...]
    star: str | None
    keyword_only: tuple[str, ...]
    mapping: str | None
    with_default: frozenset[str]
    bound: bool | None
    class_name: str | None = None


UNKNOWN = "the source of the function is not at hand"


def of_torch_wrapper(file: str, name: str) -> Parameters | None:
    """PyTorch's own `inner(*args, **kwargs)` (`wrap_inline`, torch/_dynamo/external_utils.py): the module
    that it calls is no argument.
    """
    if name == "inner" and _TORCH_INNER.search(file):
        return Parameters((), "args", (), "kwargs", frozenset(), False)
    return None


def find_function(source: SourceFile, name: str, line: int) -> cst.FunctionDef | cst.Lambda | None:
    """The function whose code object has this name and first line, which is its first decorator's."""
    for node in _functions(source, name):
        first = node.decorators[0] if node.decorators else node.name
        if line in (source.lines(first)[0], source.lines(node.name)[0]):
            return node
    if name != "<lambda>":
        return None
    lambdas = (node for node in source.nodes if isinstance(node, cst.Lambda))
    return _only([node for node in lambdas if source.lines(node)[0] == line])


def only_function(source: SourceFile, name: str) -> cst.FunctionDef | None:
    """The function of that name, if the file has just one."""
    return _only(_functions(source, name))


def _functions(source: SourceFile, name: str) -> list[cst.FunctionDef]:
    return [
        node
        for node in source.nodes
        if isinstance(node, cst.FunctionDef) and node.name.value == name
    ]


def _only(found: list[Node]) -> Node | None:
    return found[0] if len(found) == 1 else None


def parameters(
    source: SourceFile, function: cst.FunctionDef | cst.Lambda, inputs: Iterable[Source]
) -> Parameters:
    """Reads a function's parameters; the recorded `inputs` tell whether `*args` begins with the object."""
    given = function.params
    positional = (*given.posonly_params, *given.params)
    names = tuple(parameter.name.value for parameter in positional)
    star = given.star_arg.name.value if isinstance(given.star_arg, cst.Param) else None
    own_class = _class_of(source, function)
    return Parameters(
        names,
        star,
        tuple(parameter.name.value for parameter in given.kwonly_params),
        given.star_kwarg.name.value if given.star_kwarg else None,
        frozenset(
            parameter.name.value
            for parameter in (*positional, *given.kwonly_params)
            if parameter.default is not None
        ),
        _has_object(function, own_class, names, star, inputs),
        own_class,
    )


def _has_object(
    function: cst.FunctionDef | cst.Lambda,
    own_class: str | None,
    names: Sequence[str],
    star: str | None,
    inputs: Iterable[Source],
) -> bool | None:
    """Whether the first parameter is the object that it is called on; None if that is not told."""
    if _is_static(function):
        return False
    if own_class is not None or (names and names[0] in ("self", "cls")):
        return True
    return False if names or star is None else _begins_with_object(star, inputs)


def _is_static(function: cst.FunctionDef | cst.Lambda) -> bool:
    return isinstance(function, cst.FunctionDef) and any(
        isinstance(decorator.decorator, cst.Name) and decorator.decorator.value == "staticmethod"
        for decorator in function.decorators
    )


def _class_of(source: SourceFile, function: cst.FunctionDef | cst.Lambda) -> str | None:
    if isinstance(function, cst.Lambda):
        return None
    body = source.parent(function)
    owner = source.parent(body) if body else None
    return owner.name.value if isinstance(owner, cst.ClassDef) else None


def _begins_with_object(star: str, inputs: Iterable[Source]) -> bool | None:
    """Whether `*args` begins with the object; not if an input is `args[0]` itself, without steps."""
    firsts = [
        source.steps
        for source in inputs
        if source.local_name == star and source.steps and source.steps[0] == Item("0")
    ]
    if any(len(steps) == 1 for steps in firsts):
        return False
    modules = {"_parameters", "_buffers", "_modules"}
    if any(getattr(steps[1], "member", None) in modules for steps in firsts):
        return True
    return None


def bind(call: cst.Call, told: Parameters | None, wanted: Source) -> Bound:
    """The argument of `call` that `wanted` comes from.

    Without the function's parameters only a keyword tells. Raises NoArgument.
    """
    variable = wanted.variable
    if told is None:
        return _by_keyword_alone(call, wanted)
    drop = _dropped(call, told)
    if variable == told.star:
        return _starred(call, told, wanted, drop)
    if variable == told.mapping:
        key = _string_key(wanted)
        if key is None:
            raise NoArgument(f"{wanted.name} is all of **{variable}")
        return _keyword(call, key, wanted.steps[1:], optional=False)
    optional = variable in told.with_default
    if variable in told.positional:
        index = told.positional.index(variable) - (drop or 0)
        if index < 0:
            raise NoArgument(f"{variable} is the object that it is called on")
        try:
            return _positional(call, index, wanted.steps, variable, variable)
        except NoArgument:
            return _keyword(call, variable, wanted.steps, optional=optional)
    if variable in told.keyword_only:
        return _keyword(call, variable, wanted.steps, optional=optional)
    raise NoArgument(f"{variable} is no parameter of the function but something that it refers to")


def _starred(call: cst.Call, told: Parameters, wanted: Source, drop: int | None) -> Bound:
    """The argument that an item of `*args` comes from. Raises NoArgument."""
    variable = wanted.variable
    index = _int_key(wanted)
    if index is None:
        raise NoArgument(f"{wanted.name} is all of *{variable}")
    if drop is None:
        raise NoArgument(f"the trace does not tell whether *{variable} begins with the object")
    return _positional(call, index + len(told.positional) - drop, wanted.steps[1:], None, variable)


def _dropped(call: cst.Call, told: Parameters) -> int | None:
    """How many parameters, or items of `*args`, are filled by what the function is called on."""
    on_class = (
        isinstance(call.func, cst.Attribute)
        and isinstance(call.func.value, cst.Name)
        and call.func.value.value == told.class_name
    )
    if on_class:
        return 0
    return None if told.bound is None else int(told.bound)


def positional_names(call: cst.Call, told: Parameters | None) -> dict[cst.Arg, str]:
    """The parameters that a call fills by position, as far as that is plain."""
    if told is None:
        return {}
    plain = itertools.takewhile(lambda arg: not arg.keyword and not arg.star, call.args)
    return dict(zip(plain, told.positional[_dropped(call, told) or 0 :], strict=False))


def accepts(call: cst.Call, told: Parameters | None) -> bool:
    """Whether the function could be called like this: no argument too many, none too few."""
    if told is None:
        return True
    keywords = _keywords(call.args).keys()
    parameters = told.positional[_dropped(call, told) or 0 :]
    plain = sum(not argument.star for argument in _by_position(call))
    too_many = plain > len(parameters) and told.star is None
    unknown = keywords - {*told.positional, *told.keyword_only}
    if too_many or (unknown and told.mapping is None):
        return False
    missing = {*parameters[plain:], *told.keyword_only} - keywords - told.with_default
    return not missing or any(argument.star for argument in call.args)


def _keywords(arguments: Iterable[cst.Arg]) -> dict[str, cst.Arg]:
    return {argument.keyword.value: argument for argument in arguments if argument.keyword}


def _positional(
    call: cst.Call, index: int, steps: tuple[Step, ...], keyword: str | None, name: str
) -> Bound:
    plain = _by_position(call)
    for position, argument in enumerate(plain):
        if argument.star:
            if argument is not plain[-1]:
                raise NoArgument("several unpacked arguments: which one it comes from is open")
            behind = _keywords(call.args[call.args.index(argument) + 1 :])
            if keyword in behind:
                break
            return Bound(argument, index - position, steps, False, name)
        if position == index:
            return Bound(argument, None, steps, False, name if keyword else f"{name}_{index}")
    raise NoArgument(f"{keyword or name} is not given in this call")


def _by_position(call: cst.Call) -> list[cst.Arg]:
    """The arguments without keywords, what is unpacked with `*` among them."""
    return [argument for argument in call.args if not argument.keyword and argument.star != "**"]


def _keyword(call: cst.Call, key: str, steps: tuple[Step, ...], *, optional: bool) -> Bound:
    if argument := _keywords(call.args).get(key):
        return Bound(argument, None, steps, False, key)
    mappings = [argument for argument in call.args if argument.star == "**"]
    if len(mappings) > 1:
        raise NoArgument(f"several mappings are unpacked: which one holds {key!r} is open")
    if mappings:
        return Bound(mappings[0], key, steps, optional, "kwargs")
    raise NoArgument(f"{key} is not given in this call")


def _by_keyword_alone(call: cst.Call, wanted: Source) -> Bound:
    given = _keywords(call.args)
    if wanted.variable in given:
        return Bound(given[wanted.variable], None, wanted.steps, False, wanted.variable)
    key = _string_key(wanted)
    if wanted.variable == "kwargs" and key in given:
        return Bound(given[key], None, wanted.steps[1:], False, key)
    raise NoArgument(f"{UNKNOWN}, and no keyword in the call is {key or wanted.variable!r}")


def _int_key(wanted: Source) -> int | None:
    key = _key(wanted)
    return key if isinstance(key, int) and key >= 0 else None


def _string_key(wanted: Source) -> str | None:
    key = _key(wanted)
    return key if isinstance(key, str) else None


def _key(wanted: Source) -> object:
    step = wanted.steps[0] if wanted.steps else None
    return literal(step.key) if isinstance(step, Item) else None


EFFECTS = (cst.Call, cst.Await, cst.Yield, cst.NamedExpr)


def has_effect(node: cst.CSTNode) -> bool:
    """Whether evaluating it can do or depend on something: a call, await, yield or walrus outside lambdas."""
    if isinstance(node, cst.Lambda):
        return False
    return isinstance(node, EFFECTS) or any(map(has_effect, node.children))


def names_in(node: cst.CSTNode) -> set[str]:
    """All names that stand in it."""
    return {found.value for found in walk(node) if isinstance(found, cst.Name)}
