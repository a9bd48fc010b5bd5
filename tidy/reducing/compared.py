"""What the ranks of a job say of each other, from their traces together."""

from __future__ import annotations

from collections.abc import Mapping

from ..account import waits_for_ranks
from ..check.late import check_job
from ..check.pipeline import CheckSettings
from ..patterns.runner import run_patterns
from ..trace import Trace
from .parcel import pack_outcomes
from .rank import Compared, HeldRank, Look, RankFile, RankSettings, window_asked


def compare(
    looks: Mapping[RankFile, Look], settings: RankSettings, checks: CheckSettings
) -> tuple[dict[RankFile, Compared], dict[str, HeldRank]]:
    """Compare the ranks of one job, whose traces are all in memory meanwhile.

    Returns:
        What is told of each, and by path what has to stay in this process since a rule says what
        cannot be sent to another one.
    """
    traces = [_unpacked(file, look, settings) for file, look in looks.items()]
    compared, held = dict[RankFile, Compared](), dict[str, HeldRank]()
    told = check_job(traces, checks.rules)
    waits = waits_for_ranks(traces)
    for file, trace, outcomes, waited in zip(looks, traces, told, waits, strict=True):
        compared[file] = Compared(pack_outcomes(outcomes, trace), waited)
        if compared[file].outcomes is None:
            of_all = {**run_patterns(trace, checks.rules), **outcomes}
            held[file.path] = HeldRank(file, looks[file].parcel, trace, of_all)
    return compared, held


def _unpacked(file: RankFile, look: Look, settings: RankSettings) -> Trace:
    assert look.parcel is not None, "it has a rank, and there are others"
    return window_asked(look.parcel.trace(), file, settings)
