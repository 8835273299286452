"""How a release raises its limits of graphs, and what they are."""

from __future__ import annotations

from pgo_advisor.dynamo.releases import Capability, TorchRelease

DEFAULT_LIMIT = 8
"""`torch/_dynamo/config.py`, `recompile_limit`, from 2.0 (`cache_size_limit`) to 2.15."""
_RENAMED = TorchRelease.parse("2.7")
"""2.6 and older warn of `cache_size_limit`; later ones know that name as well."""


def raised(release: TorchRelease | None, graphs: int | str) -> str:
    """What allows that many graphs of one function; where the release can, for one compile."""
    if release is None or not release.has(Capability.RECOMPILE_LIMIT_ARGUMENT):
        return f"torch._dynamo.config.{_name(release)} = {graphs}"
    isolate = ", isolate_recompiles=True" if release.has(Capability.ISOLATE_RECOMPILES) else ""
    return f"torch.compile(…, recompile_limit={graphs}{isolate})"


def accumulated(release: TorchRelease | None) -> str:
    """The setting that bounds all graphs of one code object together, 256 unless set."""
    return f"torch._dynamo.config.accumulated_{_name(release)}"


def _name(release: TorchRelease | None) -> str:
    old = release is not None and release < _RENAMED
    return "cache_size_limit" if old else "recompile_limit"
