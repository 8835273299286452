r"""The value of TORCH_COMPILE_DYNAMIC_SOURCES (and TORCH_COMPILE_UNBACKED_SOURCES, the same syntax).

How PyTorch reads it (`get_dynamic_sources`, `_parse_source_entry` and `is_dynamic_source` in
torch/_dynamo/variables/builder.py; read in 2.7.1, 2.8.0, 2.10.0, 2.12.0, 2.13.0 and 2.14.1; 2.15's
documentation in torch/compiler/config.py says the same as 2.13's):

- Every U+0020 is removed, then the text is split at every comma. There is no way to quote either,
  and other white space stays.
- 2.7: a set of names; an entry is compared with the whole name. Nothing is a pattern.
- 2.8 to 2.12: an entry that equals the name, or whose `re.match` finds it: a regular expression
  that is anchored at the start only. One that `re` cannot compile kills the program, as soon as a
  source is compared with it.
- Since 2.13 an entry is first split by `^(.+):(\d+)$` into pattern and dim. Asked for a dim, an
  entry without one and an entry with that dim answer; asked for a source (an int), all answer.

So each entry here is of one of two forms. A plain name, `L['x']`, equals one source and as a
pattern finds none: a name that begins with `L` goes on with `[`, which `['x']`, a character class,
is not. Everything else is a pattern of exactly one name or, folded, of exactly the names that it
covers: what `re` would interpret is escaped, white space is `\s` (a name holds no other than the
space), comma and what does not print are `\x2c` and the like, and `$` ends it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from pgo_advisor.dynamo.releases import Capability, TorchRelease
from pgo_advisor.dynamo.sources import SourceDim


@dataclass(frozen=True)
class ListEntry:
    """One entry of the list as PyTorch reads it, and what it stands for."""

    text: str
    covers: tuple[SourceDim, ...]


@dataclass(frozen=True)
class SourceList:
    """A list's value. `notes` are sentences; they and `unexpressible` hold names as recorded."""

    entries: tuple[ListEntry, ...]
    unexpressible: tuple[tuple[SourceDim, str], ...]
    """What the release cannot be told, each with the reason."""
    notes: tuple[str, ...]

    @property
    def value(self) -> str:
        """The text for the environment variable, or for `torch.compiler.config`."""
        return ",".join(entry.text for entry in self.entries)


MAX_VALUE_BYTES = 131_000
"""Linux allows 128 KiB for the name, `=` and the value (MAX_ARG_STRLEN in execve(2))."""


def encode(entries: Iterable[SourceDim], release: TorchRelease | None) -> SourceList:
    """The list that makes exactly `entries` dynamic under `release`, in their order.

    A whole source covers its dims. Before 2.13, and where the release is None (not known), there
    is no `:N`: a dim stands for its whole source, and a note says so. The value for None is right
    for all releases from 2.8 on.
    """
    wanted: dict[SourceDim, None] = dict.fromkeys(entries)
    if release and not release.has(Capability.DYNAMIC_SOURCES):
        reason = f"PyTorch {release} has no list of dynamic sources; 2.7 and later have"
        return SourceList(
            (), tuple((entry, reason) for entry in wanted), (f"{reason}.",) if wanted else ()
        )
    suffixes = release is not None and release.has(Capability.LIST_DIM_SUFFIX)
    regexes = release is None or release.has(Capability.LIST_REGEX)

    unexpressible = []
    covers: dict[SourceDim, list[SourceDim]] = {}
    for entry in wanted:
        whole = SourceDim(entry.source)
        if not regexes and not _survives_as_name(entry.source):
            unexpressible.append((entry, f"PyTorch {release} cannot be given a name with {_ODD}"))
        else:
            key = entry if suffixes and whole not in wanted else whole
            covers.setdefault(key, []).append(entry)

    if regexes:
        listed = [
            ListEntry(text, tuple(entry for key in keys for entry in covers[key]))
            for text, keys in _patterns(list(covers))
        ]
    else:
        listed = [ListEntry(key.source, tuple(covered)) for key, covered in covers.items()]
    result = SourceList(tuple(listed), tuple(unexpressible), ())
    return SourceList(result.entries, result.unexpressible, tuple(_notes(result, release)))


_ODD = "a comma, a space or a character that does not print"


def _survives_as_name(source: str) -> bool:
    return source.isprintable() and not set(", ") & set(source)


def _notes(result: SourceList, release: TorchRelease | None) -> Iterator[str]:
    covered = [entry for listed in result.entries for entry in listed.covers]
    dims = [entry.source for entry in covered if entry.dim is not None]
    if dims and release is None:
        yield (
            "The PyTorch release is not known, so the list does without :N (2.13 and later): "
            f"all dims of {_named(dims)} become dynamic."
        )
    elif dims and release is not None and not release.has(Capability.LIST_DIM_SUFFIX):
        yield f"PyTorch {release} marks whole sources: all dims of {_named(dims)} become dynamic."
    if release is None and any(entry.text.endswith("$") for entry in result.entries):
        yield "Entries that end in $ are regular expressions, which PyTorch 2.7 ignores."
    globals_ = [e.source for e in covered if e.dim is None and e.source.startswith("G[")]
    if globals_ and release and not release.has(Capability.LIST_GLOBAL_INTS):
        yield f"PyTorch {release} ignores {_named(globals_)} if it is an int."
    if result.unexpressible:
        names = _named([entry.source for entry, _ in result.unexpressible])
        yield f"Left out, since PyTorch {release} cannot be given a name with {_ODD}: {names}."
    if len(result.value.encode(errors="surrogatepass")) > MAX_VALUE_BYTES:
        yield (
            "The list is longer than an environment variable can be on Linux (128 KiB): "
            "set torch.compiler.config.dynamic_sources in the program instead."
        )


def _named(sources: list[str]) -> str:
    """The first three, cut to a readable length."""
    names = list(dict.fromkeys(sources))
    shown = [name if len(name) <= 80 else f"{name[:77]}..." for name in names[:3]]
    return ", ".join(shown) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


# A name that as a pattern finds no name at all; see the module's docstring.
_PLAIN = re.compile(r"[LG]\['\w+'\](?:\['[\w.:/]+'\]|\[\d+\]|\.\w+)*")
_TOKEN = re.compile(r"[0-9]{1,9}|[^\W0-9]+|\W", re.DOTALL)
_FOLD_FROM = 4
_MAX_FOLDED_NAME = 500
_MAX_FOLDED_SLOTS = 8


def _patterns(keys: list[SourceDim]) -> Iterator[tuple[str, list[SourceDim]]]:
    """The list entries for these sources and dims, each with those of them that it stands for.

    Names of one shape (the same but for numbers and words) are folded: as long as several sets of
    names differ in one place only, they become one, with an alternation there. That is exact:
    the alternations of a set spell its names and nothing else.
    """
    shapes: dict[object, list[SourceDim]] = {}
    for key in keys:
        shapes.setdefault(_shape(key), []).append(key)
    folded: dict[SourceDim, tuple[str, list[SourceDim]]] = {}
    for alike in shapes.values():
        if len(alike) < _FOLD_FROM:
            continue
        for text, members in _folded(alike):
            single = sum(len(_single(key)) + 1 for key in members)
            if len(members) >= _FOLD_FROM and 2 * len(text) <= single:
                folded.update(dict.fromkeys(members, (text, members)))
    for key in keys:
        text, members = folded.get(key, (_single(key), [key]))
        if key == members[0]:
            yield text, members


def _single(key: SourceDim) -> str:
    suffix = "" if key.dim is None else f":{key.dim}"
    if _PLAIN.fullmatch(key.source):
        return key.source + suffix
    return f"{_escaped(key.source)}${suffix}"


def _shape(key: SourceDim) -> object:
    if len(key.source) > _MAX_FOLDED_NAME:
        return key
    return key.dim, tuple(
        "0" if token[0] in "0123456789" else "a" if _is_word(token) else token
        for token in _TOKEN.findall(key.source)
    )


def _is_word(token: str) -> bool:
    return token[0] == "_" or token[0].isalnum()


def _folded(alike: list[SourceDim]) -> Iterator[tuple[str, list[SourceDim]]]:
    """Patterns that together find exactly these names of one shape, with the names of each."""
    spelled = {key: _TOKEN.findall(key.source) for key in alike}
    columns = list(zip(*spelled.values(), strict=True))
    slots = [place for place, tokens in enumerate(columns) if len(set(tokens)) > 1]
    if len(slots) > _MAX_FOLDED_SLOTS:
        return
    # Numbers first: layers of one model belong together more than names that happen to be alike.
    slots.sort(key=lambda place: not columns[place][0].isdigit())
    boxes = {
        tuple(frozenset((tokens[place],)) for place in slots): [key]
        for key, tokens in spelled.items()
    }
    for axis in range(len(slots)):
        merged: dict[object, list[tuple[frozenset[str], ...]]] = {}
        for box in boxes:
            merged.setdefault(box[:axis] + box[axis + 1 :], []).append(box)
        boxes = {
            (
                *group[0][:axis],
                frozenset().union(*(box[axis] for box in group)),
                *group[0][axis + 1 :],
            ): [key for box in group for key in boxes[box]]
            for group in merged.values()
        }
    order = {key: position for position, key in enumerate(alike)}
    for box, members in boxes.items():
        choices = dict(zip(slots, box, strict=True))
        pattern = "".join(
            _alternation(choices[place]) if place in choices else _escaped(tokens[0])
            for place, tokens in enumerate(columns)
        )
        members.sort(key=order.__getitem__)
        suffix = "" if members[0].dim is None else f":{members[0].dim}"
        yield f"{pattern}${suffix}", members


def _alternation(tokens: frozenset[str]) -> str:
    """A pattern of exactly these tokens, numbers as `(?:[0-9]|1[01])`."""
    alternatives = sorted(tokens)
    if all(token.isdigit() for token in tokens):
        alternatives = _digits(tokens)
    return alternatives[0] if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})"


def _digits(tokens: Iterable[str]) -> list[str]:
    """Alternatives for digit strings: those with the same last digits share their beginnings."""
    last_digits: dict[str, set[str]] = {}
    for token in tokens:
        last_digits.setdefault(token[:-1], set()).add(token[-1])
    beginnings: dict[tuple[bool, str], set[str]] = {}
    for beginning, last in last_digits.items():
        beginnings.setdefault((beginning != "", _one_of(last)), set()).add(beginning)
    alternatives = []
    for (longer, last_digit), starts in sorted(beginnings.items()):
        for start in _digits(starts) if longer else [""]:
            alternatives.append(start + last_digit)
    return alternatives


def _one_of(digits: set[str]) -> str:
    text = "".join(sorted(digits))
    if len(text) == 1:
        return text
    consecutive = len(text) > 2 and text in "0123456789"
    return f"[{text[0]}-{text[-1]}]" if consecutive else f"[{text}]"


def _escaped(text: str) -> str:
    """A pattern of exactly this text, without comma, space and what does not print."""
    return "".join(map(_escape, text))


def _escape(character: str) -> str:
    if character == " ":
        return r"\s"
    if character in r"\.^$*+?{}[]|()":
        return "\\" + character
    if character.isprintable() and character != ",":
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_DIM_SUFFIX = re.compile(r"^(.+):(\d{1,18})$")


def entries_of(value: str) -> list[str]:
    """The entries of a list, as PyTorch splits it: a space is nothing."""
    return [entry for entry in value.replace(" ", "").split(",") if entry]


@lru_cache(maxsize=64)
def parse(value: str, release: TorchRelease | None) -> tuple[tuple[str, int | None], ...]:
    """The entries, pattern and dim, that PyTorch reads from a value; None reads as 2.13 does."""
    if release and not release.has(Capability.DYNAMIC_SOURCES):
        return ()
    texts = entries_of(value)
    if release and not release.has(Capability.LIST_REGEX):
        return tuple((text, None) for text in texts)
    suffixes = release is None or release.has(Capability.LIST_DIM_SUFFIX)
    return tuple(
        (suffix[1], int(suffix[2]))
        if suffixes and (suffix := _DIM_SUFFIX.match(text))
        else (text, None)
        for text in texts
    )
