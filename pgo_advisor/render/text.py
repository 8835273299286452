"""Words that several renderings share, and making recorded text harmless to show."""

from __future__ import annotations

import re

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.report import Advice, Range, Totals

_NOT_ASCII = re.compile(r"[^\x20-\x7e\t\n]")


def visible(text: str, most: int = 0) -> str:
    """Recorded text with what controls, hides or changes the direction shown as escapes.

    Tabs and newlines stay. With `most`, a longer text is cut in its middle to about that length.
    """
    if most and len(text) > most:
        half = (most - 1) // 2
        text = f"{text[:half]}…{text[-half:]}"
    shown = _NOT_ASCII.sub(_escape, text)
    return shown if not most or len(shown) <= 2 * most else shown[: 2 * most]


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    selects = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    if not character.isprintable() or selects or character == "\u034f":
        return f"\\u{ord(character):04x}"
    return character


def one_line(text: str, most: int = 0) -> str:
    """The same with tabs and newlines as spaces."""
    return visible(" ".join(text.split()), most)


def count(number: int | Range, noun: str) -> str:
    """`1 compile`, `2 compiles`, `1 to 4 compiles`, `at least 1 compile`."""
    if isinstance(number, int):
        number = Range(number, number)
    plural = noun if number.low == number.high == 1 else f"{noun}s"
    if number.exact:
        return f"{number.low} {plural}"
    if number.high is None:
        return f"at least {number.low} {noun if number.low == 1 else plural}"
    return f"{number.low} to {number.high} {plural}"


def span(number: Range) -> str:
    """`1`, `1 to 4`, `≥ 1`."""
    if number.exact:
        return str(number.low)
    return f"≥ {number.low}" if number.high is None else f"{number.low} to {number.high}"


def duration(seconds: float) -> str:
    """`34 ms`, `2.4 s`, `3 min 20 s`, `1 h 5 min`; `?` for zero, which no compile takes: it is unknown."""
    if not seconds:
        return "?"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def place(advice: Advice) -> str:
    """`L['x'] dim 0`, or just the source for an int."""
    source = one_line(advice.source, 200)
    return source if advice.dim is None else f"{source} dim {advice.dim}"


def cost(totals: Totals) -> str:
    """`3 compiles took 543 ms, 333 ms of it in 2 recompiles`; console text has no durations."""
    told = count(totals.compiles, "compile")
    if totals.seconds:
        told += f" took {duration(totals.seconds)}"
    if totals.seconds and totals.slowest and totals.processes_compiling > 1:
        rank = "process" if totals.slowest.rank is None else f"rank, {totals.slowest.rank},"
        told += (
            f", summed over {totals.processes_compiling} processes "
            f"(the slowest {rank} took {duration(totals.slowest.seconds)})"
        )
    if totals.unfinished:
        told += f" (the log ends within {totals.unfinished} of them)"
    if not totals.recompiles:
        return told
    recompiles = count(totals.recompiles, "recompile")
    if not totals.seconds:
        return f"{told}, {recompiles} among them"
    return f"{told}, {duration(totals.recompile_seconds)} of it in {recompiles}"


def spent(least: float, most: float, whole: float = 0.0) -> str:
    """`1.4 s`, `up to 1.4 s`, `0.5 to 1.4 s`; with the whole, `1.4 of 2.8 s`."""
    end = f" of {duration(whole)}" if whole else ""
    told = f"{_beside(most, whole)}{end}" if whole else duration(most)
    if not most or most - least < 1e-6:
        return told
    return f"{_beside(least, most)} to {told}" if least else f"up to {told}"


def _beside(part: float, whole: float) -> str:
    """The number alone where the whole is told in the same unit."""
    number, _, unit = duration(part).partition(" ")
    return number if unit == duration(whole).partition(" ")[2] else f"{number} {unit}"


def saved(totals: Totals) -> str:
    """The seconds that the advice saves, with their range."""
    return spent(totals.least_saved_seconds, totals.saved_seconds)


def kind_in_words(kind: CauseKind) -> str:
    """`tensor size`."""
    return "size 0 or 1" if kind is CauseKind.zero_one else kind.value.replace("-", " ")
