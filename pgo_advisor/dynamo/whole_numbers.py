"""Moved to `sources`."""

from pgo_advisor.dynamo.sources import whole_number

__all__ = ["whole_number"]
