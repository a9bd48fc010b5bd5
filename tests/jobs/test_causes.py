"""Why a rank is late, from its account beside those of others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tidy.jobs import LateCause, RankWork, cause_of

_USUAL = RankWork(1e6, 0.0, 5e5, 8e6, (1e12, 2e9), 1_500.0)
_OTHERS = [replace(_USUAL, device_ns=8e6 + ns, events=1_500 + n) for n, ns in enumerate((0, 9e4))]


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ({"loader_ns": 3e6}, LateCause.LOADER),
        ({"stalls_ns": 2e6}, LateCause.STALLS),
        ({"host_ns": 2.5e6}, LateCause.HOST),
        ({"host_ns": 2.5e6, "events": 1_510.0}, LateCause.OTHER_WORK),
        ({"device_ns": 10e6}, LateCause.SLOWER_KERNELS),
        ({"device_ns": 10e6, "events": 1_502.0}, LateCause.SLOWER_KERNELS),
        ({"device_ns": 10e6, "amount": (1.2e12, 2.4e9)}, LateCause.MORE_WORK),
        ({"device_ns": 10e6, "amount": (1e12, 2.4e9)}, LateCause.MORE_WORK),
        ({"device_ns": 10e6, "amount": (1.02e12, 2e9)}, LateCause.SLOWER_KERNELS),
        ({"device_ns": 10e6, "events": 1_600.0}, LateCause.OTHER_WORK),
        ({"device_ns": 8.5e6}, None),
        ({}, None),
    ],
)
def test_half_of_the_lateness_is_the_cause(more: dict[str, Any], cause: LateCause | None) -> None:
    assert cause_of(replace(_USUAL, **more), _OTHERS, 2e6) == cause


def test_nothing_is_said_without_others_or_lateness() -> None:
    late = replace(_USUAL, loader_ns=9e6)
    assert cause_of(late, [], 2e6) is None
    assert cause_of(late, _OTHERS, 0.0) is None
