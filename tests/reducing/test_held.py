"""What one call on the file of a rank leaves to the next, also in another process."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from job_maker import JobOptions, make_job

from tidy.check.overlap import Repeated
from tidy.reducing import RankFile, RankSettings, rank


def test_what_is_held_of_a_rank_goes_to_another_process_without_what_rules_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask may take it there; the trace goes along, so that the file is not read again."""
    make_job(tmp_path, JobOptions(ranks=2, steps=4, seed=3))
    file, settings = RankFile(str(tmp_path / "rank-0001.json.gz")), RankSettings()
    _, held = rank.look_at(None, file, settings)
    assert held is not None
    assert held.parcel is not None
    assert sys.getsizeof(held) > held.parcel.nbytes > 100_000
    monkeypatch.setattr(rank, "_read", None)
    moved = pickle.loads(pickle.dumps(held, 5))  # noqa: S301 - our own
    compared = rank.Compared(None, None)
    (expected, _), (keys, held) = (
        rank.found_keys(each, file, settings, compared) for each in (held, moved)
    )
    assert keys == expected
    assert keys
    left_out = replace(file, repeated=Repeated(frozenset({(0, 1)}), "twice"))
    reduced, nothing = rank.reduce_held(held, left_out, settings)
    assert isinstance(reduced, rank.ReducedRank)
    assert nothing is None
