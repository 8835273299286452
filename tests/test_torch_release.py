"""Releases and what they can do: each expected value stands in PyTorch's own release."""

from __future__ import annotations

import pytest

from pgo_advisor.dynamo.releases import Capability, TorchRelease


@pytest.mark.parametrize(
    ("capability", "without", "first"),
    [
        (Capability.DYNAMIC_SOURCES, "2.6.0", "2.7.0"),
        (Capability.LIST_REGEX, "2.7.1", "2.8.0"),
        (Capability.UNBACKED_SOURCES, "2.7.1", "2.8.0"),
        (Capability.LIST_GLOBAL_INTS, "2.8.0", "2.9.0"),
        (Capability.LIST_DIM_SUFFIX, "2.12.1", "2.13.0+cpu"),
        (Capability.RECOMPILE_LIMIT_ARGUMENT, "2.11.0", "2.12.0"),
        (Capability.ISOLATE_RECOMPILES, "2.12.1", "2.13.0"),
    ],
)
def test_since(capability: Capability, without: str, first: str) -> None:
    assert not TorchRelease.parse(without).has(capability)
    assert TorchRelease.parse(first).has(capability)


def test_a_prerelease_has_only_what_the_release_before_has() -> None:
    vendor = TorchRelease.parse("2.13.0a0+5228986c39.nv25.5")
    assert vendor.has(Capability.LIST_GLOBAL_INTS)
    assert not vendor.has(Capability.LIST_DIM_SUFFIX)


def test_releases_are_ordered_by_number_not_by_text() -> None:
    assert TorchRelease.parse("2.9.1") < TorchRelease.parse("2.10.0")
    assert str(TorchRelease.parse("2.13.0+cpu")) == "2.13.0"


@pytest.mark.parametrize("text", ["", "main", "2.13.x", "2." + "1" * 5000, "2.13\x00", "\udc80"])
def test_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="not a PyTorch version"):
        TorchRelease.parse(text)
