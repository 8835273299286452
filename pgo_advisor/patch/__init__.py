"""The advice as a change of the source: marks before the calls of the compiled functions."""

from pgo_advisor.patch.locate import PathMap
from pgo_advisor.patch.marked_calls import Bounds
from pgo_advisor.patch.patched_files import make_patch
from pgo_advisor.patch.result import FilePatch, Patch, Site, SiteOutcome

__all__ = ["Bounds", "FilePatch", "Patch", "PathMap", "Site", "SiteOutcome", "make_patch"]
