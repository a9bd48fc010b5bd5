"""What the ranks of a job say of each other, from their traces together."""

from __future__ import annotations

from collections.abc import Mapping

from ..account import waits_for_ranks
from ..check.pipeline import CheckSettings
from ..patterns.runner import run_on_ranks
from ..trace import Trace
from .parcel import pack_outcomes
from .rank import Compared, Look, RankFile, RankSettings, window_asked


def compare(
    looks: Mapping[RankFile, Look], settings: RankSettings, checks: CheckSettings
) -> dict[RankFile, Compared]:
    """Compare the ranks of one job, whose traces are all in memory meanwhile.

    Raises:
        NotSent: a rule says what only this process understands.
    """
    traces = [_unpacked(file, look, settings) for file, look in looks.items()]
    told = run_on_ranks(traces, checks.rules)
    waits = waits_for_ranks(traces)
    return {
        file: Compared(pack_outcomes(outcomes, trace), waited)
        for file, trace, outcomes, waited in zip(looks, traces, told, waits, strict=True)
    }


def _unpacked(file: RankFile, look: Look, settings: RankSettings) -> Trace:
    assert look.parcel is not None, "it has a rank, and there are others"
    return window_asked(look.parcel.trace(), file, settings)
