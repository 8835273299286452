"""The marks for one call: the statements, and the changes to the file that put them there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import libcst as cst

from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.patch.expressions import as_value, in_display, is_stable, with_steps
from pgo_advisor.patch.marks import Mark, existing, is_tuple
from pgo_advisor.patch.place import NoPlace, Place, effects_in, place_of
from pgo_advisor.patch.scopes import binds, import_torch, torch_name, used_names
from pgo_advisor.patch.signature import Bound, NoArgument, Parameters, positional_names
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
        name = names.of(argument)
        value = as_value(source, argument.value)
        if argument.star == "*":
            value = f"tuple({value})"
        result.statements.append(f"{name} = {value}")
        result.edits.append(Edit(*source.span(argument.value), name))
    firm = _firm(targets, wants)
    for target in targets:
        statement = f"{names.torch}._dynamo.{_call(target, firm)}"
        if target.condition:
            # the block that follows is indented where it is inserted
            statement = f"if {target.condition}:\0{statement}"
        if statement not in result.statements:
            result.statements.append(statement)
        result.marked.append(target.want.advice.pair)
    result.edits += _insertion(source, place, result.statements)
    if torch_name(source, call) is None:
        result.edits.append(import_torch(source))
    return result


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
    value = bound.argument.value
    if bound.unpacked is None:
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
    if isinstance(bound.unpacked, int):
        own = _own_star(source, bound.argument, statement)
        whole = own or names.give(bound.argument, "args")
        text = with_steps(f"{whole}[{bound.unpacked}]", bound.steps)
        return _of(want, names.torch, text, None if own else bound.argument)
    stable = is_stable(value)
    whole = source.code(value) if stable else names.give(bound.argument, "kwargs")
    key = _string(source, bound.unpacked)
    condition = f"{key} in {whole}" if bound.optional else None
    text = with_steps(f"{whole}[{key}]", bound.steps)
    return _of(want, names.torch, text, None if stable else bound.argument, condition)


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
    needed = {id(target.needs) for target in targets if target.needs is not None}
    fragile = {
        id(target.want.bound.argument)
        for target in targets
        if target.needs is None and not target.text.isidentifier()
    }
    roots = {target.text.partition(".")[0].partition("[")[0] for target in targets}
    if place.rebound & roots:
        raise NoPlace("the statement binds what it passes (:=)")
    if not needed | fragile:
        return []
    if place.effects:
        raise NoPlace(
            "the statement evaluates something else first; give the argument a name before it"
        )
    moved = [
        number for number, argument in enumerate(call.args) if id(argument) in needed | fragile
    ]
    named = [
        argument
        for number, argument in enumerate(call.args)
        if id(argument) in needed or (number < moved[-1] and effects_in([argument]))
    ]
    seen_keyword = False
    for argument in call.args:
        if argument.star == "*" and seen_keyword:
            raise NoPlace(
                "an unpacked argument stands behind a keyword, but is evaluated before it"
            )
        seen_keyword = seen_keyword or argument.keyword is not None
    if any(effects_in([a]) and a.star == "**" and id(a) not in needed for a in named):
        raise NoPlace("an unpacked mapping is computed before it")
    return named


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


def _call(target: _Target, firm: set[SourceDim]) -> str:
    advice = target.want.advice
    if advice.pair not in firm:
        return f"maybe_mark_dynamic({target.text}, {advice.dim})"
    bounds = target.want.bounds
    limits = f", min={bounds[0]}, max={bounds[1]}" if bounds else ""
    return f"mark_dynamic({target.text}, {advice.dim}{limits})"


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
