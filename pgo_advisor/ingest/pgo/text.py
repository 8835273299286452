"""The PGO state as text: artifacts `put_local_code_state`, `get_local_code_state` and their kin.

Printed by `torch/_dynamo/pgo.py`, `render_code_state` and `FrameStateSizeEntry.render`: a line for
each code object (`hash(…)` since 2.8), below it one for each of its inputs, at the end PyTorch's own
suggestion.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pgo_advisor.dynamo.sources import whole_number
from pgo_advisor.ingest.pgo.pickles import MAX_BYTES, MAX_ROWS

PGO_ARTIFACTS = frozenset(
    {
        "put_local_code_state",
        "get_local_code_state",
        "put_remote_code_state",
        "get_remote_code_state",
        "get_extra_remote_code_state",
    }
)

_CODE = re.compile(r"(?:hash\(([0-9a-fA-F]{1,8}|[^()]{0,400})\))?(.+):(\d{1,18}):([^:]*):")
_ENTRY = re.compile(
    r": (?:tensor size=\[(?P<size>[^\]]*)\] stride=\[(?P<stride>[^\]]*)\]"
    r"|scalar (?P<scalar>.*)|(?P<dynamic>fully dynamic scalar or tensor)|(?P<unusual>unusual .*))",
    re.DOTALL,
)
_ENTRY_BEGINS = (": tensor size=[", ": scalar ", ": fully dynamic ", ": unusual ")


def read_pgo_text(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of a file, and what of it was lost, in sentences."""
    with path.open("rb") as file:
        text = file.read(MAX_BYTES + 1)
    rows = parse_pgo_text(text[:MAX_BYTES].decode("utf-8", errors="replace"))
    whole = len(text) <= MAX_BYTES and len(rows) < MAX_ROWS
    return rows, [] if whole else ["the profile is larger than any; its beginning is read"]


def parse_pgo_text(text: str) -> list[dict[str, Any]]:
    """Rows for the table `pgo_entries`: all but the keys. Lines of other kinds are passed over.

    At most MAX_ROWS: who gives the text bounds its length.
    """
    rows: list[dict[str, Any]] = []
    code: dict[str, Any] | None = None
    for line in text.split("\n"):
        start = max(map(line.rfind, _ENTRY_BEGINS)) if line.startswith("  ") else -1
        if start >= 0 and (match := _ENTRY.fullmatch(line, start)):
            if code is not None and len(rows) < MAX_ROWS:
                rows.append({**code, "source": line[2:start], **_entry(match)})
        elif match := _CODE.fullmatch(line):
            code = {
                "file_hash": match[1],
                "file": match[2],
                "line": int(match[3]),
                "name": match[4],
            }
    return rows


def is_pgo_text(text: str) -> bool:
    """Whether the text begins as a PGO artifact does: a code object, then one of its inputs."""
    lines = [line for line in text.split("\n") if line][:200]
    return (
        bool(lines) and bool(_CODE.fullmatch(lines[0])) and bool(parse_pgo_text("\n".join(lines)))
    )


def _entry(match: re.Match[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if match["size"] is not None:
        sizes = [size.strip() for size in match["size"].split(",") if size.strip()]
        entry["kind"] = "tensor"
        entry["size"] = tuple(whole_number(size) for size in sizes)
        entry["stride"] = f"[{match['stride']}]"
    elif match["scalar"] is not None:
        entry |= {"kind": "scalar", "value": match["scalar"]}
    else:
        entry["kind"] = "dynamic" if match["dynamic"] else "unusual"
    return entry
