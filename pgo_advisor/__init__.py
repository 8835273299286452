"""Reads what a torch.compile run leaves behind and says which inputs to mark dynamic.

`analyze` is the whole tool: its result holds the tables, the advice, and every rendering.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pgo_advisor.analysis import Analysis, analyze
    from pgo_advisor.errors import InputError, OutputError, PgoAdvisorError, TlparseError
    from pgo_advisor.run.in_process import recording
    from pgo_advisor.tables import Tables
    from pgo_advisor.testing.expect import TooManyCompilesError, expect

__version__ = "0.1.0"
__all__ = [
    "Analysis",
    "InputError",
    "OutputError",
    "PgoAdvisorError",
    "Tables",
    "TlparseError",
    "TooManyCompilesError",
    "analyze",
    "expect",
    "recording",
]

_HOMES = {
    "Analysis": "analysis",
    "analyze": "analysis",
    "InputError": "errors",
    "OutputError": "errors",
    "PgoAdvisorError": "errors",
    "TlparseError": "errors",
    "Tables": "tables",
    "TooManyCompilesError": "testing.expect",
    "expect": "testing.expect",
    "recording": "run.in_process",
}


def __getattr__(name: str) -> Any:
    """Imports pandas only once something of it is used, so that `--help` is quick."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
