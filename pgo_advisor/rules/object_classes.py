"""Which classes of objects the guards of a function's graphs are for."""

from __future__ import annotations

import re
from collections import defaultdict

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.code_object import CodeObject

_CLASS = re.compile(r", (\d{1,20})\), type=<class '([^']{1,1000})'>")


def made_anew(code: CodeObject) -> dict[str, str]:
    """The inputs for which several classes of one name were met, with that name: each is made anew."""
    met: dict[tuple[str, str], set[str]] = defaultdict(set)
    for recompile in code.recompiles:
        for cause in recompile.causes:
            if cause.kind is CauseKind.object_type and (told := _CLASS.search(cause.text or "")):
                met[cause.source or "", told[2]].add(told[1])
    return {source: name for (source, name), classes in met.items() if len(classes) > 1}
