"""Feeds damaged recordings to the analysis until the time is over: `python -m scripts.fuzz --minutes 60`.

A case fails if it raises anything but a PgoAdvisorError, or takes more than a minute. Failing inputs are
kept, to become tests.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import lzma
import random
import re
import signal
import tarfile
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pgo_advisor
from pgo_advisor.errors import PgoAdvisorError
from pgo_advisor.ingest.limits import Limits

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"
MAX_SECONDS = 60
HOSTILE = [
    b"\0" * 50,
    b"\xff\xfe\xfd",
    b"\x1b[2J\x1b]0;x\x07",
    b"../../evil",
    b"<script>alert(1)</script>",
    b"\n\t",
    b"\r",
    b"[0/1] ",
    b"[__recompiles] ",
    b"9" * 30,
    b"{" * 200,
    b"[" * 200,
    b'"',
    b"\\",
    "\u202e\u2028".encode(),
    b"\xed\xa0\x80",
]
PROFILE = b"""hash(9b7a1f3c)/app/train.py:12:step:
  L['x']: tensor size=[?, 3] stride=[S(1), 1]
  L['k']: scalar 3
  L['m']: fully dynamic scalar or tensor
hash(<string>)<string>:1:made:
  L['y']: tensor size=[4, ?] stride=[S(1), 1]
"""
VALUE = re.compile(rb'-?\d+(?:\.\d+)?|"(?:[^"\\]|\\.){0,200}"')
OTHER_VALUES = [
    b"-1",
    b"0",
    b"9223372036854775808",
    b"9" * 30,
    b"9" * 5000,
    b"-" + b"9" * 20,
    b"1e308",
    b"1e400",
    b"null",
    b"[]",
    b'""',
    b'"\\u0000"',
    b'"\\ud800"',
    b'"' + b"a!" * 3000 + b'"',
    b"\"L['d']['.size()[q'].size()[0]\"",
]


def corpora() -> dict[str, list[bytes]]:
    """Real recordings by kind, unpacked."""

    def contents(folder: str, pattern: str) -> list[bytes]:
        files = sorted((FIXTURES / folder).rglob(pattern))
        return [
            gzip.decompress(content)
            if (content := path.read_bytes())[:2] == b"\x1f\x8b"
            else content
            for path in files
        ]

    traces = [trace for trace in contents("traces", "*.gz") if len(trace) < 400_000]
    small = sorted(traces, key=len)[:6]
    return {
        "trace": traces,
        "fields": traces,
        "console": contents("console", "*.txt*"),
        "pgo": [PROFILE],
        "pickle": contents("pgo", "*.pkl"),
        "mega-cache": contents("pgo", "*.bin"),
        "archive": [pack(trace) for trace in small for pack in PACKS],
    }


def _tar(content: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("job/rank_0.log", "job/rank_1.log"):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def _zip(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("job/rank_0.log", content)
    return packed.getvalue()


PACKS: list[Callable[[bytes], bytes]] = [gzip.compress, bz2.compress, lzma.compress, _tar, _zip]


def damaged(content: bytes, others: list[bytes], draw: random.Random) -> bytes:
    """One of the damages that files come in, some of them several times."""
    data = bytearray(content)
    for _ in range(draw.choice([1, 1, 1, 2, 5, 20])):
        if not data:
            break
        at = draw.randrange(len(data))
        match draw.randrange(10):
            case 0:
                del data[at:]
            case 1:
                data[at] = draw.randrange(256)
            case 2:
                del data[at : at + draw.choice([1, 10, 1000])]
            case 3:
                data[at:at] = draw.choice(HOSTILE)
            case 4:
                data[at:at] = data[at : at + draw.choice([10, 1000, 20_000])]
            case 5:
                other = draw.choice(others)
                start = draw.randrange(len(other) + 1)
                data[at:at] = other[start : start + draw.choice([10, 1000, 20_000])]
            case 6:
                lines = bytes(data).splitlines(keepends=True)
                draw.shuffle(lines)
                data = bytearray(b"".join(lines))
            case 7:
                end = at + draw.choice([1, 4, 8])
                data[at:end] = draw.choice([b"\0", b"\xff"]) * len(data[at:end])
            case 8 | 9:
                if value := VALUE.search(data, at, at + 4000):
                    data[value.start() : value.end()] = draw.choice(OTHER_VALUES)
    return bytes(data)


RECORD = re.compile(rb"([VIWEC]\d{4} [^\n]{1,300}?\.py:\d+\] )(\{.*)")
LISTS = re.compile(rb"\[[^\[\]\n]{0,300}\]")
ODD_VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    1 << 63,
    10**40,
    0.5,
    1e308,
    "",
    "?",
    "s0",
    [],
    [None],
    {},
    [[1]],
    "\ud800",
]
ODD_NAMES = ["L['x'].size()[99]", "L['x'].stride()[3]", "L['x']", "L['x']._base", "s0", "zf1"]


def disagreeing(content: bytes, draw: random.Random) -> bytes:
    """A recording with fields swapped, dropped, repeated, lengthened, or of another type."""
    lines = content.splitlines(keepends=True)
    # of each kind of record as many, so that the rare ones have their turn
    kinds: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if match := RECORD.match(line):
            kind = re.match(rb'\{"(\w+)": ?(?:\{"name": ?"(\w+))?', match[2])
            kinds.setdefault(str(kind and kind.groups()), []).append(number)
    for _ in range(draw.choice([1, 2, 5, 20])):
        alike = kinds[draw.choice(list(kinds))]
        number = draw.choice(alike)
        match = RECORD.match(lines[number])
        other = RECORD.match(lines[draw.choice(alike)])
        if match and other and draw.random() < 0.8:
            try:
                record, donor = json.loads(match[2]), json.loads(other[2])
            except ValueError:
                continue
            _change(record, donor, draw)
            lines[number] = match[1] + json.dumps(record).encode() + b"\n"
        elif number + 1 < len(lines) and lines[number + 1].startswith(b"\t"):
            end = number + 1
            while end < len(lines) and lines[end].startswith(b"\t"):
                end += 1
            _change_payload(lines, number + 1, end, draw)
    return b"".join(lines)


def _change(record: Any, donor: Any, draw: random.Random) -> None:
    """Changes one field at any depth; `donor` is another record of the kind."""
    while True:
        keys = list(record) if isinstance(record, dict) else list(range(len(record)))
        if not keys:
            return
        key = draw.choice(keys)
        value = record[key]
        twin = donor.get(key) if isinstance(donor, dict) and isinstance(record, dict) else None
        if isinstance(value, (dict, list)) and value and draw.random() < 0.75:
            record, donor = value, twin
            continue
        match draw.randrange(6):
            case 0:
                del record[key]
            case 1:
                record[key] = twin
            case 2 if isinstance(value, (list, str)):
                record[key] = value * draw.choice([0, 2, 3, 40])
            case 3 if isinstance(value, list):
                value.append(draw.choice([*ODD_VALUES, *value]))
            case 4:
                record[key] = draw.choice(ODD_NAMES)
            case 5 if isinstance(value, int):
                record[key] = draw.choice([value + 1, value - 1, -value, 0, 1, 2, 7])
            case _:
                record[key] = draw.choice(ODD_VALUES)
        return


def _change_payload(lines: list[bytes], start: int, end: int, draw: random.Random) -> None:
    at = draw.randrange(start, end)
    match draw.randrange(5):
        case 0:
            lines[at] = b""
        case 1:
            lines[at] *= draw.choice([2, 50])
        case 2:
            other = draw.randrange(start, end)
            lines[at], lines[other] = lines[other], lines[at]
        case 3 if found := LISTS.search(lines[at]):
            parts = found[0][1:-1].split(b", ")
            parts = draw.choice(
                [parts[1:], parts[:-1], parts * 2, [*parts, b"7"], parts[::-1], [b"?"]]
            )
            lines[at] = (
                lines[at][: found.start()]
                + b"["
                + b", ".join(parts)
                + b"]"
                + lines[at][found.end() :]
            )
        case _:
            if value := VALUE.search(lines[at]):
                new = draw.choice([*OTHER_VALUES, b"2", b"3", b"L['x']"])
                lines[at] = lines[at][: value.start()] + new + lines[at][value.end() :]


def run(path: Path) -> str:
    """Analyses one file as the command line does; the name of what came of it."""
    signal.signal(signal.SIGALRM, _hang)
    signal.alarm(MAX_SECONDS)
    try:
        analysis = pgo_advisor.analyze(path, limits=Limits(bytes=64 << 20))
        analysis.to_text()
        analysis.to_json()
        analysis.to_html()
        analysis.to_markdown()
        analysis.env("shell")
        analysis.snippet()
        analysis.patch(root=path.parent)
        with tempfile.TemporaryDirectory() as directory:
            analysis.tables.to_parquet(Path(directory, "tables"))
    except PgoAdvisorError as error:
        return type(error).__name__
    finally:
        signal.alarm(0)
    return "advice" if analysis.advice else "analysed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--kind", action="append", help="of these corpora only")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path("fuzz-cases"))
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else time.time_ns()
    draw = random.Random(seed)
    chosen = {kind: all_ for kind, all_ in corpora().items() if kind in (options.kind or [kind])}
    everything = [content for contents in chosen.values() for content in contents]
    options.out.mkdir(exist_ok=True)
    path = options.out / "current"
    outcomes: Counter[tuple[str, str]] = Counter()
    failed = 0
    end = time.monotonic() + 60 * options.minutes
    while time.monotonic() < end:
        kind = draw.choice(list(chosen))
        content = draw.choice(chosen[kind])
        path.write_bytes(
            disagreeing(content, draw) if kind == "fields" else damaged(content, everything, draw)
        )
        try:
            outcomes[kind, run(path)] += 1
        except Exception as error:
            failed += 1
            outcomes[kind, type(error).__name__] += 1
            kept = options.out / f"{kind}-{seed}-{sum(outcomes.values())}"
            path.rename(kept)
            kept.with_suffix(".txt").write_text(traceback.format_exc())
            print(f"{kept}: {error!r}"[:300], flush=True)
    path.unlink(missing_ok=True)
    for (kind, outcome), number in sorted(outcomes.items()):
        print(f"{kind}: {outcome}: {number}")
    return 1 if failed else 0


def _hang(signum: int, frame: object) -> None:
    raise TimeoutError(f"more than {MAX_SECONDS} s")


if __name__ == "__main__":
    raise SystemExit(main())
