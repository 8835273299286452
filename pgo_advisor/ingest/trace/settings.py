"""The configuration that a compile ran under, as far as it changes the advice.

`compilation_metrics` carries `dynamo_config` (2.6), `inductor_config` (2.6) and `compiler_config` (2.10)
as JSON texts: `torch/_dynamo/utils.py`, `_get_dynamo_config_for_logging` and its kin.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from pgo_advisor.ingest.trace.records import Metrics


def settings_of(metrics: Metrics) -> dict[str, Any]:
    """Columns `dynamic`, `dynamic_sources`, `unbacked_sources` and `settings` of the table compiles."""
    compiler = _config(metrics.compiler_config)
    dynamo = _config(metrics.dynamo_config)
    inductor = _config(metrics.inductor_config)
    return {
        "dynamic": _dynamic(dynamo),
        "dynamic_sources": _list(compiler.get("dynamic_sources")),
        "unbacked_sources": _list(compiler.get("unbacked_sources")),
        "settings": ", ".join(_notable(dynamo, inductor)) or None,
    }


def left_out(metrics: Metrics) -> bool:
    """Whether a list was in force that is not taken over, for what it holds."""
    value = _config(metrics.compiler_config).get("dynamic_sources")
    return isinstance(value, str) and not value.isprintable()


def _list(value: object) -> str | None:
    """None for what acts in a terminal, or in no environment: Dynamo writes such keys as escapes."""
    return value if isinstance(value, str) and value.isprintable() else None


def _dynamic(dynamo: dict[str, Any]) -> str | None:
    if not dynamo:
        return None
    if dynamo.get("automatic_dynamic_shapes") is False:
        return "false"
    return "true" if dynamo.get("assume_static_by_default") is False else "auto"


def _notable(dynamo: dict[str, Any], inductor: dict[str, Any]) -> list[str]:
    notable = {
        "cudagraphs": inductor.get("triton.cudagraphs"),
        "max_autotune": inductor.get("max_autotune"),
        "allow_unspec_int_on_nn_module": dynamo.get("allow_unspec_int_on_nn_module"),
        "dynamic_parameters": dynamo.get("force_parameter_static_shapes") is False,
        "specialize_int": dynamo.get("specialize_int"),
    }
    limit = dynamo.get("recompile_limit", dynamo.get("cache_size_limit"))
    return [name for name, on in notable.items() if on is True] + (
        [f"recompile_limit={limit}"] if isinstance(limit, int) else []
    )


@lru_cache(maxsize=256)
def _config(text: str | None) -> dict[str, Any]:
    try:
        config = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}
