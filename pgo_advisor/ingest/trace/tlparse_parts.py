"""What is left of tlparse's output where neither its list of records nor its copy of the log is.

tlparse before 0.3.45 writes no raw.jsonl, but every release (0.3.42 to 0.4.3 were run) writes raw.log, a
copy of the log, which is read instead. Without both, the folders of the compiles, `-_0_1_0` for [0/1], hold
the reasons of recompiles and of graph breaks as files of their own.
"""

from __future__ import annotations

import re
from pathlib import Path

from pgo_advisor.dynamo.guard_failures import parse_failures
from pgo_advisor.ingest.console.printed import Printed
from pgo_advisor.ingest.console.rows import printed_rows
from pgo_advisor.ingest.pgo.text import parse_pgo_text
from pgo_advisor.ingest.rows import LogRows
from pgo_advisor.ingest.trace.payloads import open_regular

_FOLDER = re.compile(r"(-|\d{1,9})_(\d{1,9})_(\d{1,9})_(\d{1,9})")
_FILE = re.compile(
    r"(recompile_reasons|dynamo_graph_break_reason|put_local_code_state)_(\d{1,9})\.\w+"
)
_MAX_BYTES = 16 << 20


def is_tlparse_parts(directory: Path) -> bool:
    """Whether a directory is such output. It may be a `rank_N` of several."""
    return (directory / "compile_directory.json").is_file()


def read_folders(directory: Path) -> LogRows:
    """Reads the folders of the compiles; their names and inputs stay unknown."""
    compiles: dict[tuple[str, int, int], Printed] = {}
    profiles: dict[int, Path] = {}
    for folder in sorted(directory.iterdir()):
        match = _FOLDER.fullmatch(folder.name)
        if not match or folder.is_symlink() or not folder.is_dir():
            continue
        prefix = "" if match[1] == "-" else f"{match[1]}/"
        key = (prefix, int(match[2]), int(match[3]))
        compile_ = compiles.setdefault(key, Printed((None, None), f"{prefix}{key[1]}/{key[2]}"))
        for path in sorted(folder.iterdir()):
            if (file := _FILE.fullmatch(path.name)) and path.is_file() and not path.is_symlink():
                if file[1] == "put_local_code_state":
                    profiles[int(file[2])] = path
                elif file[1] == "recompile_reasons":
                    for failure in parse_failures(_text(path)):
                        compile_.add(failure.text)
                else:
                    compile_.breaks.append(_text(path))
    read = printed_rows([compiles[key] for key in sorted(compiles)])
    if profiles:
        last = profiles[max(profiles)]
        entries = [{"artifact": last.stem, **row} for row in parse_pgo_text(_text(last))]
        read.rows["pgo_entries"] = entries
    read.losses.append(
        "neither raw.jsonl nor raw.log is there: names, inputs and durations of compiles are not known"
    )
    return read


def _text(path: Path) -> str:
    with open_regular(path) as file:
        return file.read(_MAX_BYTES).decode("utf-8", errors="replace")
