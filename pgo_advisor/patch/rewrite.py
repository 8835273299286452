"""The marks for one call: the statements, and the changes to the file that put them there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import libcst as cst

from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.patch.expressions import as_value, in_display, is_stable, with_steps
from pgo_advisor.patch.marks import Mark, existing, is_tuple, root_name
from pgo_advisor.patch.place import NoPlace, Place, place_of
from pgo_advisor.patch.scopes import binds, import_torch, torch_name, used_names
from pgo_advisor.patch.signature import Bound, NoArgument, Parameters, has_effect, positional_names
from pgo_advisor.patch.source_file import Edit, SourceFile
from pgo_advisor.report import Advice, Remedy


@dataclass(frozen=True)
class WantedMark:
    """An input to be marked at a call; `condition` as `FrameInputs.condition` has it; `bounds`: min, max."""

    advice: Advice
    bound: Bound
    condition: str | None
    bounds: tuple[int, int] | None


@dataclass
class Rewrite:
    """What becomes of one call. `marked` and `present`: pairs that get a mark, and that have one."""

    edits: list[Edit] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    marked: list[SourceDim] = field(default_factory=list)
    present: list[SourceDim] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Target:
    """The expression to mark. `needs`: the argument that has to get a name for it."""

    want: WantedMark
    text: str
    needs: cst.Arg | None
    condition: str | None


def rewrite(
    source: SourceFile, call: cst.Call, wants: Sequence[WantedMark], parameters: Parameters | None
) -> Rewrite:
    """The marks for a call of a function with these `parameters`.

    Raises NoPlace if none can stand before it; why a single one cannot becomes a reason.
    """
    result = Rewrite()
    place = place_of(source, call)
    names = _Names(source, call, parameters)
    targets = _targets(source, place, call, wants, names, result)
    marks = existing(source, place.statement)
    targets = [target for target in targets if not _is_present(target, marks, result)]
    if not targets:
        return result
    named = _named(source, call, targets, place)
    if named and _in_class(source, call):
        raise NoPlace("a name for its argument would become an attribute of the class")
    if binds(source, names.torch):
        raise NoPlace(f"the file binds {names.torch} to something else, too")
    for argument in named:
        _name(source, argument, names.of(argument), result)
    firm = _firm(targets, wants)
    for target in targets:
        result.statements.append(_statement(target, names.torch, firm))
        result.marked.append(target.want.advice.pair)
    result.statements = list(dict.fromkeys(result.statements))
    result.edits += _insertion(source, place, result.statements)
    if torch_name(source, call) is None:
        result.edits.append(import_torch(source))
    return result


def _name(source: SourceFile, argument: cst.Arg, name: str, result: Rewrite) -> None:
    """Gives an argument a name before the call, and passes that."""
    value = as_value(source, argument.value)
    result.statements.append(
        f"{name} = tuple({value})" if argument.star == "*" else f"{name} = {value}"
    )
    result.edits.append(Edit(*source.span(argument.value), name))


def unmarked(advice: Advice, reason: NoArgument) -> str:
    """Why an input gets no mark, and what declares it instead."""
    instead = f"; list entry {advice.list_entry}" if advice.list_entry else ""
    return f"{advice.source} dim {advice.dim}: {reason}{instead}"


class _Names:
    """What torch is called, and names for arguments: the parameter's own if it is free."""

    def __init__(self, source: SourceFile, call: cst.Call, parameters: Parameters | None) -> None:
        self.torch = torch_name(source, call) or "torch"
        self._used = used_names(source, call)
        self._positional = positional_names(call, parameters)
        self._own: dict[int, str] = {}

    def give(self, argument: cst.Arg, wish: str) -> str:
        key = id(argument)
        if key not in self._own:
            wish = wish if wish.isidentifier() else "argument"
            choices = [wish, f"{wish}_arg", *(f"{wish}_arg{n}" for n in range(2, 1000))]
            name = next(choice for choice in choices if choice not in self._used)
            self._used.add(name)
            self._own[key] = name
        return self._own[key]

    def of(self, argument: cst.Arg) -> str:
        keyword = argument.keyword.value if argument.keyword else None
        return self.give(argument, keyword or self._positional.get(argument, "argument"))


def _targets(
    source: SourceFile,
    place: Place,
    call: cst.Call,
    wants: Iterable[WantedMark],
    names: _Names,
    result: Rewrite,
) -> list[_Target]:
    found = []
    for want in wants:
        try:
            found.append(_target(source, place.statement, want, names))
        except NoArgument as error:
            result.reasons.append(unmarked(want.advice, error))
    order = [id(argument) for argument in call.args]
    return sorted(
        found,
        key=lambda target: (
            order.index(id(target.want.bound.argument)),
            target.text,
            target.want.advice.dim or 0,
        ),
    )


def _target(source: SourceFile, statement: cst.CSTNode, want: WantedMark, names: _Names) -> _Target:
    bound = want.bound
    if bound.unpacked is None:
        return _plain(source, want, names)
    if isinstance(bound.unpacked, int):
        own = _own_star(source, bound.argument, statement)
        whole = own or names.give(bound.argument, "args")
        text = with_steps(f"{whole}[{bound.unpacked}]", bound.steps)
        return _of(want, names.torch, text, None if own else bound.argument)
    value = bound.argument.value
    stable = is_stable(value)
    whole = source.code(value) if stable else names.give(bound.argument, "kwargs")
    key = _string(source, bound.unpacked)
    condition = f"{key} in {whole}" if bound.optional else None
    text = with_steps(f"{whole}[{key}]", bound.steps)
    return _of(want, names.torch, text, None if stable else bound.argument, condition)


def _plain(source: SourceFile, want: WantedMark, names: _Names) -> _Target:
    """The target where the argument is neither `*` nor `**`. Raises NoArgument for a constant."""
    bound = want.bound
    inner = in_display(bound)
    element = inner.argument.value
    if isinstance(element, (cst.BaseNumber, cst.SimpleString)) or (
        isinstance(element, cst.Name) and element.value in ("None", "True", "False")
    ):
        raise NoArgument(f"this call gives {source.code(element)}")
    if is_stable(element):
        return _of(want, names.torch, with_steps(source.code(element), inner.steps), None)
    name = names.give(bound.argument, bound.name)
    return _of(want, names.torch, with_steps(name, bound.steps), bound.argument)


def _of(
    want: WantedMark, torch: str, text: str, needs: cst.Arg | None, condition: str | None = None
) -> _Target:
    if want.condition:
        own = want.condition.format(text, torch)
        condition = f"{condition} and {own}" if condition else own
    return _Target(want, text, needs, condition)


def _own_star(source: SourceFile, argument: cst.Arg, statement: cst.CSTNode) -> str | None:
    """The name behind `*` where it is a tuple already: the caller's own `*args`, or one named before."""
    function = source.enclosing(argument, cst.FunctionDef)
    star = function.params.star_arg if function else None
    if not isinstance(argument.value, cst.Name):
        return None
    name = argument.value.value
    if isinstance(star, cst.Param) and star.name.value == name:
        return name
    return name if is_tuple(source, statement, name) else None


def _string(source: SourceFile, key: str) -> str:
    text = repr(key)
    text = f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text
    return text if source.can_hold(text) else ascii(key)


def _is_present(target: _Target, marks: Iterable[Mark], result: Rewrite) -> bool:
    """Notes a mark that stands there already."""
    for mark in marks:
        if target.needs is None and (mark.expression, mark.dim) == (
            target.text,
            target.want.advice.dim,
        ):
            if mark.function == "mark_static":
                result.reasons.append(f"{target.text} is marked static before the call")
            else:
                result.present.append(target.want.advice.pair)
            return True
    return False


def _named(
    source: SourceFile, call: cst.Call, targets: Sequence[_Target], place: Place
) -> list[cst.Arg]:
    """The arguments to name, in their order: those to be marked that need it, and those before them whose
    evaluation must not come later than theirs. Raises NoPlace if other things would.
    """
    if not place.rebound.isdisjoint(root_name(target.text) for target in targets):
        raise NoPlace("the statement binds what it passes (:=)")
    last = _last_touched(call, targets)
    if last < 0:
        return []
    if place.effects:
        raise NoPlace(
            "the statement evaluates something else first; give the argument a name before it"
        )
    needed = {target.needs for target in targets if target.needs is not None}
    before = [arg for arg in call.args[:last] if arg not in needed and has_effect(arg)]
    _check_order(call.args, before)
    return sorted({*needed, *before}, key=call.args.index)


def _check_order(arguments: Sequence[cst.Arg], before: Sequence[cst.Arg]) -> None:
    """Raises NoPlace where arguments are not evaluated as they stand, or one of `before` is a mapping."""
    seen_keyword = False
    for argument in arguments:
        if argument.star == "*" and seen_keyword:
            raise NoPlace(
                "an unpacked argument stands behind a keyword, but is evaluated before it"
            )
        seen_keyword = seen_keyword or argument.keyword is not None
    if any(argument.star == "**" for argument in before):
        raise NoPlace("an unpacked mapping is computed before it")


def _last_touched(call: cst.Call, targets: Iterable[_Target]) -> int:
    """The position of the last argument that more is made of than a name; -1 if there is none."""
    touched = {
        id(target.want.bound.argument)
        for target in targets
        if target.needs is not None or not target.text.isidentifier()
    }
    return max((n for n, argument in enumerate(call.args) if id(argument) in touched), default=-1)


def _in_class(source: SourceFile, call: cst.Call) -> bool:
    for node in source.ancestors(call):
        if isinstance(node, cst.FunctionDef):
            return False
        if isinstance(node, cst.ClassDef):
            return True
    return False


def _firm(targets: Sequence[_Target], wants: Sequence[WantedMark]) -> set[SourceDim]:
    """Pairs that may have mark_dynamic: all that the code requires to equal them have a mark, too."""
    marked = {target.want.advice.pair for target in targets}
    return {
        want.advice.pair
        for want in wants
        if want.advice.remedy is Remedy.mark_dynamic
        and marked.issuperset(partner.pair for partner in want.advice.together)
    }


def _statement(target: _Target, torch: str, firm: set[SourceDim]) -> str:
    """The mark of one target. The block after a condition is indented where it is inserted, at the NUL."""
    condition = f"if {target.condition}:\0" if target.condition else ""
    advice = target.want.advice
    if advice.pair not in firm:
        return f"{condition}{torch}._dynamo.maybe_mark_dynamic({target.text}, {advice.dim})"
    bounds = target.want.bounds
    limits = f", min={bounds[0]}, max={bounds[1]}" if bounds else ""
    return f"{condition}{torch}._dynamo.mark_dynamic({target.text}, {advice.dim}{limits})"


def _insertion(source: SourceFile, place: Place, statements: Iterable[str]) -> list[Edit]:
    """Puts statements on lines of their own before one; it may have to be taken off its line first."""
    statement = place.statement
    start = source.span(statement).start
    container = source.parent(statement)
    new = source.newline
    if isinstance(container, cst.SimpleStatementSuite):
        owner = source.parent(container) or container
        indent = _indent(source, source.span(owner).start) + source.indent
        first = source.span(container.body[0]).start
        colon = first - len(container.leading_whitespace.value)
        edits = [Edit(colon, first, f"{new}{indent}")]
    else:
        indent, edits, first = _indent(source, start), [], start
        if isinstance(container, cst.SimpleStatementLine):
            first = source.span(container.body[0]).start
    lines = "".join(
        f"{line.replace(chr(0), f'{new}{indent}{source.indent}')}{new}{indent}"
        for line in statements
    )
    if start == first:
        if edits:
            return [Edit(edits[0].start, edits[0].end, edits[0].text + lines)]
        return [Edit(start, start, lines)]
    end = max(
        source.span(small).end
        for small in getattr(container, "body", ())
        if source.span(small).start < start
    )
    return [*edits, Edit(end, start, f"{new}{indent}{lines}")]


def _indent(source: SourceFile, offset: int) -> str:
    line = source.text[source.line_start(offset) : offset]
    return line[: len(line) - len(line.lstrip())].replace("\f", "")
