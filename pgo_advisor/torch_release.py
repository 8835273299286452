"""What each PyTorch release can do: the one table that everything that depends on a release asks.

Found by running PyTorch 2.5, 2.7.1, 2.9.1, 2.11, 2.13 and 2.15 on the CPU and by reading the
sources of the releases between them. 2.6 is the oldest release looked at in detail: what is older
than that stands as 2.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique

from packaging.version import Version


@unique
class Capability(Enum):
    """A thing that not every PyTorch release can do: (first release, meaning, first without it)."""

    # What a trace holds.
    RECOMPILE_REASONS = "2.5", "recompile_reasons and describe_tensor records"
    STACKS_WITH_LOC = "2.7", "the source line (loc) in each frame of a recorded stack"
    METRICS_RECOMPILE_REASON = "2.7", "recompile_reason in compilation_metrics"
    REASONS_WITHOUT_L = "2.7", "recompile reasons write L['x'] as x"
    PGO_WHITELIST_EVENTS = "2.8", "the chromium event pgo.dynamic_whitelist, also without a job id"
    PGO_MISSING_WHITELIST = "2.10", "missing_dynamic_whitelist in that event"
    METRICS_TORCH_VERSION = "2.10", "pytorch_version in compilation_metrics"
    METRICS_COMPILER_CONFIG = "2.10", "compiler_config, with the lists in force, in the metrics"
    SINGLE_REASON_AS_TEXT = "2.11", "a single recompile reason is raw text instead of JSON"
    REASONS_WITH_USER_STACK = "2.11", "a user stack trace inside a recompile reason"
    TORCH_VERSION_ARTIFACT = "2.12", "the artifact torch_version"

    # Profiles.
    PGO_ARTIFACTS = "2.6", "PGO artifacts (2.6 only with automatic_dynamic_local_pgo switched on)"
    PGO_BY_DEFAULT = "2.7", "PGO is on without a switch, given a job id"
    MEGA_CACHE_PGO = "2.8", "the mega-cache names its PGO entries 'pgo'; in 2.7 the number 3"
    STICKY_PGO_KEY = "2.8", "TORCH_COMPILE_STICKY_PGO_KEY"
    PGO_FILE_HASH = "2.8", "hash(CRC32) of the source file in the PGO text"
    PGO_ADVICE_LINE = "2.8", "PyTorch's own list value at the end of the PGO text"
    PGO_REPEATED_CODE_ID = "2.12", "the same code id can stand twice in a PGO text"

    # The lists of sources.
    DYNAMIC_SOURCES = "2.7", "TORCH_COMPILE_DYNAMIC_SOURCES, exact names"
    LIST_REGEX = "2.8", "an entry is also a regular expression, anchored at the start"
    UNBACKED_SOURCES = "2.8", "TORCH_COMPILE_UNBACKED_SOURCES"
    LIST_GLOBAL_INTS = "2.9", "an int in a global (G['n']) can stand in the list"
    LIST_DIM_SUFFIX = "2.13", "L['x']:0, one dim only"
    DYNAMIC_VALUES = "2.13", "TORCH_COMPILE_DYNAMIC_VALUES, sentinel sizes"
    STATIC_SOURCES = "2.15", "TORCH_COMPILE_STATIC_SOURCES, which beats the other lists"
    DYNAMIC_BEATS_UNBACKED = "2.15", "a source in both lists is dynamic; before, unbacked"

    # Marks on tensors.
    MARK_DYNAMIC_BOUNDS = "2.6", "mark_dynamic(min=, max=)"
    MARK_DYNAMIC_SPECIALIZE_ON = "2.8", "mark_dynamic(specialize_on=)"
    MARK_DYNAMIC_HINT_OVERRIDE = "2.9", "mark_dynamic(hint_override=)"
    MARK_UNBACKED_BOUNDS = "2.12", "mark_unbacked(min=, max=)"
    MARK_DYNAMIC_ONE_BOUND = "2.15", "only min= or only max=; before, every first compile raised"
    MAYBE_MARK_DYNAMIC_BOUNDS = "2.15", "maybe_mark_dynamic(min=, max=)"

    # torch.compile and its configuration.
    MODULE_INTS_STATIC = "2.8", "ints on modules stay static unless allow_unspec_int_on_nn_module"
    THREAD_LOCAL_CONFIG = "2.12", "overridden configuration is not seen by other threads"
    SHAPES_SPEC = "2.13", "torch.compile(shapes_spec=)", "2.15"
    DYNAMIC_SHAPES_SPEC = "2.15", "torch.compile(dynamic_shapes=)"
    RECOMPILE_LIMIT_ARGUMENT = "2.15", "torch.compile(recompile_limit=, isolate_recompiles=)"

    def __init__(self, since: str, meaning: str, until: str | None = None) -> None:
        self.since = Version(since)
        self.meaning = meaning
        self.until = Version(until) if until else None


@dataclass(frozen=True, order=True)
class TorchRelease:
    """A PyTorch release. Where it is not known, callers take None and stay right for 2.8 to 2.15.

    Pre-releases are older than the release that they lead to (PEP 440), so a nightly build or a
    vendor's `2.8.0a0+5228986c39.nv25.5` counts as having only what the release before has.
    """

    version: Version

    @classmethod
    def parse(cls, text: str) -> TorchRelease:
        """Read `torch.__version__`, as `2.13.0+cpu`, or a part of it, as `2.13`.

        Raises ValueError where the text is no version.
        """
        try:
            return cls(Version(text))
        except ValueError:
            raise ValueError(f"not a PyTorch version: {text[:40]!r}") from None

    def has(self, capability: Capability) -> bool:
        """Whether this release can do it."""
        until = capability.until
        return capability.since <= self.version and (until is None or self.version < until)

    def includes(self, other: TorchRelease) -> bool:
        """Whether another release is this one, or of this one where only a part is given: 2.13 of 2.13.0."""
        release, given = other.version.release, self.version.release
        return release[: len(given)] == given

    def __str__(self) -> str:
        """The version without its build, as `2.13.0`."""
        return self.version.public
