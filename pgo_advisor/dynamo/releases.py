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
    """A thing that not every PyTorch release can do: the first release that can, and what it is."""

    DYNAMIC_SOURCES = "2.7", "TORCH_COMPILE_DYNAMIC_SOURCES, exact names"
    LIST_REGEX = "2.8", "an entry is also a regular expression, anchored at the start"
    UNBACKED_SOURCES = "2.8", "TORCH_COMPILE_UNBACKED_SOURCES"
    LIST_GLOBAL_INTS = "2.9", "an int in a global (G['n']) can stand in the list"
    LIST_DIM_SUFFIX = "2.13", "L['x']:0, one dim only"
    RECOMPILE_LIMIT_ARGUMENT = "2.12", "torch.compile(recompile_limit=)"
    ISOLATE_RECOMPILES = "2.13", "torch.compile(isolate_recompiles=)"


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
        since, _ = capability.value
        return Version(since) <= self.version

    def includes(self, other: TorchRelease) -> bool:
        """Whether another release is this one, or of this one where only a part is given: 2.13 of 2.13.0."""
        release, given = other.version.release, self.version.release
        return release[: len(given)] == given

    def __str__(self) -> str:
        """The version without its build, as `2.13.0`."""
        return self.version.public
