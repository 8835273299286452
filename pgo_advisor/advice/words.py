"""The sentences of the advice: codes, each with its English, in one place.

The other modules yield a code with the facts that its sentence names: `Cost.decided(code="if n > 8:")`.
What the JSON and every rendering say of it is `str` of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from pgo_advisor.replay.uncertainty import DoubtKind


@dataclass(frozen=True)
class Said:
    """A code and the facts that its sentence names."""

    code: Code
    facts: tuple[tuple[str, object], ...]

    def __str__(self) -> str:
        return str(self.code.value).format(**dict(self.facts))


class Code(Enum):
    """Its value is the sentence, with the names of its facts in braces."""

    def __call__(self, **facts: object) -> Said:
        return Said(self, tuple(facts.items()))


class WhyRemedy(Code):
    """Why an input is declared in just this way: why it cannot be marked, or why not firmly."""

    is_int = "marks are for tensors, this is an int"
    is_parameter = "marks on parameters and buffers do nothing"
    called_from_compiled = "it is called from compiled code, where a mark cannot be traced"
    is_base = "it is the base of a view, which is no argument of its own"
    no_argument = "it is no argument of the compiled function"
    of_module = "it belongs to the module, not to the call"
    no_expression = "no expression outside of the compiled code names it"
    caller_unknown = "what was recorded does not tell how the function is called"

    small_size = (
        "PyTorch always compiles sizes 0 and 1 separately, and mark_dynamic would raise for them"
    )
    partial = "console text does not show what it has to equal, so mark_dynamic could raise"
    never_symbol = "no recorded compile had this size dynamic, so the code may need a fixed one"
    pinned = "a recorded compile pinned it"
    constrained = "a guard constrains it: {guard}"
    partner = "it has to equal {source}, which cannot have mark_dynamic"
    free = (
        "in every compile where this size was dynamic your code accepted any value, so mark_dynamic "
        "is safe"
    )


class Condition(Code):
    """What keeps a mark from standing before every call."""

    number = "at times it is a number"
    none = "at times it is None"
    absent = "not every call read it, so it may not be there"


class Cost(Code):
    """Why a declaration may cost something."""

    unseen = (
        "no recorded compile needs it; without it, a call with another size could compile: it varied "
        "beside a size that is needed, or the recorded graphs took any size of it"
    )
    at_limit = (
        "no recorded compile needs it; a call had another size when the recompile limit was hit, "
        "and compiles once it is not"
    )
    small_size = "size {sizes} still has a graph of its own (see zero-one for what avoids that)"
    decided = "the code decides by it: a graph for each outcome stays ({code})"
    two_sizes = (
        "if {first} and {second} are all its sizes, two static graphs may run faster than a "
        "dynamic one; if one is the last batch, drop_last avoids it"
    )
    multiples = (
        "all sizes are multiples of 8, which a dynamic kernel does not know: it can be slower "
        "(padding to the multiple and torch._check(n % 8 == 0) tell it)"
    )
    cudagraphs = "CUDA graphs are recorded again for each size, with the memory for each"
    max_autotune = "kernels are tuned for the first size that is seen"
    static_chosen = (
        "dynamic=False was set here, so PyTorch compiles each size anew; "
        "the declaration overrides it"
    )
    parameter = (
        "a weight's shape becomes dynamic, and kernels slower; to keep it static raise "
        "torch._dynamo.config.recompile_limit to the number of shapes"
    )
    many_symbols = "{number} symbols make each compile slower"


class WhyVerdict(Code):
    """What a frame's verdict rests on."""

    compiled_once = "it was compiled once and never again"
    once_in_each = "it was compiled once in each of {processes} processes"
    compiled_anew = (
        "it was compiled {compiles} times, each anew: torch._dynamo.reset() came between"
    )
    fewer_compiles = "{compiles} compiles become {predicted}"
    mark_earlier = "mark it before the first call as well"
    saving_unknown = (
        "inputs varied; how many compiles declaring them saves, this record does not tell"
    )
    not_in_text = "why it was compiled again is not in the text"
    saves_nothing = "declaring sizes saves no compile ({kinds})"


class Evidence(Code):
    """What an entry of the list rests on."""

    reason = "[{compile_id}] {reason}"
    values = "{frame}: values met at compiles: {values}"
    profile = "PyTorch has seen several {what} and made it dynamic by itself"


class Differs(Code):
    """What tells processes from the largest group."""

    cut = "its log ends within a compile"
    number = "{name}: {own} compile{s} instead of {common}"
    more = "{number} more functions"
    order = "the same numbers of compiles, in another order or for other causes"


class Note(Code):
    """What the reader has to know of the advice as a whole."""

    several_releases = (
        "The logs are of several PyTorch releases ({releases}); give --torch-version."
    )
    other_release = "The trace is of PyTorch {recorded}, the advice is for {wanted}."
    no_release = (
        "The trace does not say which PyTorch made it; the list is right for 2.8 to 2.15, for "
        "another release give --torch-version."
    )
    old_release = (
        f"{no_release} It looks like 2.7 or older, which knows no regular expressions in the list."
    )
    in_force = "The run had TORCH_COMPILE_DYNAMIC_SOURCES={value}, which stays in the list."
    same_rank = (
        "Several logs are of the same rank, or tell none: worker processes count together, but of "
        "several runs name one."
    )
    touches = (
        "The list works by name: {entries} also makes the input dynamic in {frames}, where it "
        "does not help, which can cost compiles or break code that needs the size as a "
        "number{marks}."
    )
    unclear = (
        "{names}: a number that varied or a tensor whose rank did, the profile does not tell "
        "which; an int could be listed, too."
    )
    console = (
        "Console text has no durations, and of the inputs it shows just what differed first: what "
        "has to be declared together may be missing. A TORCH_TRACE shows all."
    )
    profile_alone = (
        "A PGO profile alone tells which sizes varied, not what that cost: no compile is counted "
        "and nothing is predicted."
    )


def written(said: Iterable[Said]) -> tuple[str, ...]:
    """The sentences, each once."""
    return tuple(dict.fromkeys(map(str, said)))


DOUBTS: dict[DoubtKind, str] = {
    DoubtKind.not_explained: "replaying the recorded run does not give its recorded compiles",
    DoubtKind.never_together: "no recorded compile had these sizes dynamic at once",
    DoubtKind.breaks: "of calls that would share a graph, one broke it and another did not",
    DoubtKind.fixed: (
        "a recorded graph took any value of what is a constant in the one in its place, "
        "and calls that compiled nothing are not recorded"
    ),
    DoubtKind.empty: "a call that compiled nothing may compile once its sizes are symbols",
    DoubtKind.never_automatic: (
        "parameters, buffers or ints of modules were never symbols in this run"
    ),
    DoubtKind.padded: "a graph of a padded tensor may refuse a contiguous one",
    DoubtKind.duck_shaped: "sizes that shared a symbol by duck sizing are declared apart",
    DoubtKind.never_varied: (
        "a size that never varied here is declared with its source, and was never a symbol"
    ),
    DoubtKind.console: "console text names only the first input that differed, others may vary",
    DoubtKind.alias: "a tensor that varies is recorded under another name only",
    DoubtKind.after_break: (
        "more calls may reach it, from a graph that breaks where another one does not"
    ),
    DoubtKind.after_limit: "more calls may reach it once the function before it hits no limit",
    DoubtKind.limit: "after the recompile limit was hit, nothing more was recorded",
}
"""Why a prediction is a range."""
