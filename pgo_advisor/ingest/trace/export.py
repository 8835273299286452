"""Whether a trace without compiles is one of torch.export, which records its symbols in the same way."""

from __future__ import annotations

import re
from pathlib import Path

OF_EXPORT = "it is of torch.export, not of torch.compile: sizes of an export are declared by dynamic_shapes="
_EXPORT = re.compile(
    rb'[\\/]torch[\\/]{1,2}_?export[\\/]|^V.{1,400}\] \{"exported_program"', re.MULTILINE
)
_CHUNK = 1 << 20


def is_of_export(log: Path) -> bool:
    """Whether a stack in it goes through torch.export (its files, in the string table)."""
    with log.open("rb") as file:
        before = b""
        while chunk := file.read(_CHUNK):
            if _EXPORT.search(before + chunk):
                return True
            before = chunk[-500:]
    return False
