"""`with pgo_advisor.expect(max_compiles=1): …`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgo_advisor.run.in_process import recording

if TYPE_CHECKING:
    from pgo_advisor.analysis import Analysis
    from pgo_advisor.compare.functions import Again, Function


class TooManyCompilesError(AssertionError):
    """More compiles or recompiles than allowed; the text has causes, lines and what helps."""


@dataclass
class Seen:
    """What was compiled in a context. It is filled when the context ends."""

    analysis: Analysis | None = None
    """None if nothing was compiled."""
    functions: tuple[Function, ...] = ()
    """The compiled functions, as far as `function` names them."""

    @property
    def compiles(self) -> int:
        return sum(function.compiles for function in self.functions)

    @property
    def recompiles(self) -> tuple[Again, ...]:
        return tuple(again for function in self.functions for again in function.recompiles)


@dataclass(frozen=True)
class Limits:
    """What is allowed; None is not limited. `function` is a pattern of names, as `Attention.forward`."""

    max_compiles: int | None = None
    max_recompiles: int | None = None
    function: str = "*"

    def broken_by(self, seen: Seen) -> str | None:
        """What is too much, as a text of some lines; None if nothing is."""
        of = "" if self.function == "*" else f" of {self.function}"
        for name, number, most in (
            ("compile", seen.compiles, self.max_compiles),
            ("recompile", len(seen.recompiles), self.max_recompiles),
        ):
            if most is not None and number > most:
                told = f"{number} {name}{'' if number == 1 else 's'}{of}, {most} allowed"
                return "\n".join([told, *_reasons(seen.functions)])
        return None

    def seen_in(self, analysis: Analysis) -> Seen:
        """The part of a recording that the limits are about."""
        from pgo_advisor.check.budgets import matches
        from pgo_advisor.compare.functions import functions_of
        from pgo_advisor.compare.places import Checkout

        checkout = Checkout() if "." in self.function else None
        functions = functions_of(analysis, checkout)
        named = (f for f in functions if matches(self.function, f.shown, f.name))
        return Seen(analysis, tuple(named))


def _reasons(functions: Sequence[Function]) -> Iterator[str]:
    from pgo_advisor.check.text import explained
    from pgo_advisor.check.violations import grouped
    from pgo_advisor.compare.places import Checkout

    checkout = Checkout()
    recompiles = [(function, again) for function in functions for again in function.recompiles]
    for violation in grouped(recompiles):
        yield from explained(violation, checkout)
    counts = (
        f"{function.shown} {function.compiles} ({checkout.shown(function.file)}:{function.line})"
        for function in functions
    )
    yield f"compiled: {', '.join(counts)}"


@contextmanager
def expect(
    *,
    max_compiles: int | None = None,
    max_recompiles: int | None = None,
    function: str = "*",
    reset: bool = False,
) -> Iterator[Seen]:
    """Raises TooManyCompilesError if more is compiled within the context than allowed.

    A recompile is a compile of a function that was compiled before, also before the context began. A graph
    break makes a function of its own of what follows it, which counts, too. `function` limits a function
    alone: a pattern of its name or qualified name. `reset` forgets what was compiled before
    (`torch._dynamo.reset()`). If the body raises, nothing is checked.

    Raises InputError if this PyTorch cannot be recorded from inside, PgoAdvisorError if the analysis fails.
    """
    limits = Limits(max_compiles, max_recompiles, function)
    seen = Seen()
    with recording(reset=reset) as run:
        yield seen
    if run.analysis:
        found = limits.seen_in(run.analysis)
        seen.analysis, seen.functions = found.analysis, found.functions
    if broken := limits.broken_by(seen):
        raise TooManyCompilesError(broken)
