"""Jobs of many ranks that are made: they read as recorded ones do, and their truth is true."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from job_maker import PLANTS, JobOptions, make_job

import tidy

_ROOT = Path(__file__).parents[2]
_RECORDED = _ROOT / "examples" / "traces" / "train_half.json.gz"
_COMMUNICATES = next((_ROOT / "tests" / "data" / "packed" / "real").glob("param__dlrm*worker0*"))
_STEPS = 4
_LATE = (
    *("slow-loader", "slow-host", "slow-gpu", "more-work"),
    *("other-path", "stall", "passing", "gpu-throttle"),
)
_Key = tuple[str, int]
_Jobs = Callable[[str], tuple[Path, dict[str, Any]]]


def _made(folder: Path, plant: str, **options: Any) -> dict[str, Any]:
    return make_job(folder, JobOptions(ranks=4, plant=plant, steps=_STEPS, seed=7, **options))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> _Jobs:
    """Make a job with a plant once, which nobody changes; give its folder and its truth."""

    @cache
    def job(plant: str) -> tuple[Path, dict[str, Any]]:
        folder = tmp_path_factory.mktemp(plant)
        return folder, _made(folder, plant)

    return job


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _events(path: Path) -> list[dict[str, Any]]:
    trace = json.loads(gzip.decompress(path.read_bytes()))
    events: list[dict[str, Any]] = trace["traceEvents"]
    return events


def _collectives(path: Path) -> dict[_Key, tuple[int, int]]:
    """Start and end of the kernel of each collective in ns since the base of the trace."""
    result = {}
    for event in _events(path):
        if event.get("cat") == "kernel" and "nccl" in event["name"]:
            args = event["args"]
            start, took = round(event["ts"] * 1000), round(event["dur"] * 1000)
            result[args["Process Group Name"], args["Seq"]] = start, start + took
    return result


def _by_key(truth: dict[str, Any]) -> dict[_Key, dict[str, Any]]:
    return {(each["group"], each["seq"]): each for each in truth["collectives"]}


def _ranks_of(truth: dict[str, Any]) -> dict[str, list[int]]:
    return {group["name"]: group["ranks"] for group in truth["groups"]}


def test_the_same_options_make_the_same_files(tmp_path: Path) -> None:
    made = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        make_job(tmp_path / name, JobOptions(ranks=2, plant="stall", steps=2, seed=seed))
        made.append(_files(tmp_path / name))
    assert made[0] == made[1]
    assert made[0] != made[2]


@pytest.mark.parametrize("plant", PLANTS)
def test_traces_are_read_as_recorded_ones(made: _Jobs, plant: str) -> None:
    folder, truth = made(plant)
    for rank in truth["ranks"]:
        if rank["file"] is None:
            continue
        is_cut = plant == "cut-file" and rank["rank"] in truth["plant"]["ranks"]
        trace = tidy.load(folder / rank["file"])
        trace.self_check()
        assert bool(trace.info.warnings) == is_cut
        assert (trace.info.rank, trace.info.world_size) == (rank["rank"], 4)
        if is_cut:
            continue
        first = rank["first_step"]
        assert [step.number for step in trace.steps] == list(range(first, first + _STEPS))
        assert (trace.caller[trace.device_rows] >= 0).all(), "each kernel has its launch"
        assert len(trace.lost_launches) == 0
        launched = trace.start_ns[trace.caller[trace.device_rows]]
        assert (trace.start_ns[trace.device_rows] > launched).all()


@pytest.mark.parametrize("plant", ["none", "slow-gpu", "slow-link", "clock-off", "drift"])
def test_the_truth_is_that_of_the_files(made: _Jobs, plant: str) -> None:
    """What a clock shows is worked out from its offset and drift."""
    folder, truth = made(plant)
    known, members = _by_key(truth), _ranks_of(truth)
    base = json.loads(gzip.decompress((folder / "rank-0000.json.gz").read_bytes()))
    zero = truth["zero_ns"] - base["baseTimeNanoseconds"]
    for rank in truth["ranks"]:
        found = _collectives(folder / rank["file"])
        mine = {key for key in known if rank["rank"] in members[key[0]]}
        assert set(found) == mine
        for key, (start, end) in found.items():
            at = members[key[0]].index(rank["rank"])
            for shown, times in ((start, "arrivals_ns"), (end, "ends_ns")):
                true_ns = known[key][times][at]
                expected = true_ns * (1 + rank["drift_ppm"] / 1e6) + rank["offset_ns"]
                assert abs(shown - zero - expected) <= 2


@pytest.mark.parametrize("plant", PLANTS)
def test_collectives_are_over_together_once_all_are_there(made: _Jobs, plant: str) -> None:
    _, truth = made(plant)
    for each in truth["collectives"]:
        last = max(each["arrivals_ns"])
        assert min(each["ends_ns"]) > last
        assert np.ptp(each["ends_ns"]) <= 5_000
        assert each["waits_ns"] == [last - arrival for arrival in each["arrivals_ns"]]


@pytest.mark.parametrize("plant", _LATE)
def test_the_rank_that_is_hit_is_late_and_costs_time(made: _Jobs, plant: str) -> None:
    _, truth = made(plant)
    assert truth["job_ns"] > 1.01 * truth["without_ns"]
    (hit,) = truth["plant"]["ranks"]
    first = dict[int, dict[str, Any]]()
    for each in truth["collectives"]:
        first.setdefault(each["step"], each)
    # What a rank does at the end of a step makes it late in the next one.
    steps = truth["plant"]["steps"] if plant != "other-path" else truth["plant"]["steps"][1:]
    for step in steps:
        arrivals = first[step]["arrivals_ns"]
        others = [each for rank, each in enumerate(arrivals) if rank != hit]
        assert arrivals[hit] - max(others) > 100_000


def test_nobody_waits_where_nothing_differs(tmp_path: Path) -> None:
    truth = _made(tmp_path, "none", quiet=True)
    assert truth["job_ns"] == truth["without_ns"]
    assert max(max(each["waits_ns"]) for each in truth["collectives"]) < 10_000


def test_a_slow_link_is_that_of_one_group(tmp_path: Path) -> None:
    truth = _made(tmp_path, "slow-link", tensor_parallel=2)
    took = defaultdict[str, list[int]](list)
    for each in truth["collectives"]:
        took[each["group"]].append(min(each["ends_ns"]) - max(each["arrivals_ns"]))
    slow = truth["plant"]["group"]
    (other,) = [
        group["name"]
        for group in truth["groups"]
        if group["description"].startswith("TENSOR") and group["name"] != slow
    ]
    assert np.median(took[slow]) > 3 * np.median(took[other])
    assert _ranks_of(truth)[slow] == truth["plant"]["ranks"]


def test_files_may_be_lost_cut_or_of_other_steps(made: _Jobs) -> None:
    folder, lost = made("lost-ranks")
    missing = [rank["rank"] for rank in lost["ranks"] if rank["file"] is None]
    assert missing == lost["plant"]["ranks"]
    assert len(list(folder.glob("rank-*"))) == 4 - len(missing)
    folder, cut = made("cut-file")
    (hit,) = cut["plant"]["ranks"]
    with pytest.raises(EOFError):
        gzip.decompress((folder / f"rank-{hit:04d}.json.gz").read_bytes())
    _, other = made("other-steps")
    firsts = [rank["first_step"] for rank in other["ranks"]]
    assert [rank for rank, first in enumerate(firsts) if first != min(firsts)] == (
        other["plant"]["ranks"]
    )


def test_a_job_takes_the_place_of_one_made_before(tmp_path: Path) -> None:
    make_job(tmp_path, JobOptions(ranks=3, steps=1))
    make_job(tmp_path, JobOptions(ranks=2, steps=1))
    assert len(list(tmp_path.glob("rank-*"))) == 2
    (tmp_path / "truth.json").unlink()
    with pytest.raises(ValueError, match="not made here"):
        make_job(tmp_path, JobOptions(ranks=2, steps=1))


def test_a_trace_without_operators_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text('{"traceEvents": []}')
    with pytest.raises(ValueError, match="no operators"):
        make_job(tmp_path / "job", JobOptions(source=tmp_path / "empty.json"))


def test_longer_samples_have_larger_shapes(tmp_path: Path) -> None:
    truth = _made(tmp_path, "more-work", strength=1.5, rank=2)
    shapes = []
    for rank in (0, 2):
        products = [
            event["args"]["Input Dims"]
            for event in _events(tmp_path / truth["ranks"][rank]["file"])
            if event["name"] == "aten::addmm"
        ]
        shapes.append(products[0][1])
    assert shapes[1] == [shapes[0][0] * 3 // 2, shapes[0][1]]


def test_collectives_have_the_args_of_pytorch(tmp_path: Path) -> None:
    _made(tmp_path, "none", tensor_parallel=2)
    args = [
        event["args"]
        for event in _events(tmp_path / "rank-0003.json.gz")
        if event["name"] == "record_param_comms"
    ]
    groups = {each["Process Group Description"]: each for each in args}
    assert groups["TENSOR_PARALLEL_GROUP"]["Process Group Ranks"] == "[2, 3]"
    data = groups["DATA_PARALLEL_GROUP"]
    assert data["Process Group Ranks"] == "[1, 3]"
    assert (data["Group size"], data["Global rank start"], data["Global rank stride"]) == (2, 1, 2)
    assert (data["Collective name"], data["dtype"]) == ("allreduce", "Float")
    assert data["In msg nelems"] == data["Out msg nelems"] > 0


def test_a_step_is_taken_from_a_recorded_trace(tmp_path: Path) -> None:
    truth = _made(tmp_path, "slow-loader", source=_RECORDED)
    trace = tidy.load(tmp_path / "rank-0001.json.gz")
    trace.self_check()
    recorded = tidy.load(_RECORDED)
    operators = {name for name in recorded.names if name.startswith("aten::")}
    made = {name for name in trace.names if name.startswith("aten::")}
    assert len(made & operators) > 0.8 * len(operators)
    assert truth["job_ns"] > truth["without_ns"]
    assert len(truth["collectives"]) >= _STEPS


def test_recorded_collectives_are_those_of_the_job(tmp_path: Path) -> None:
    """The trace is of one rank of eight, without `ProfilerStep`, and 2.0 wrote fewer args."""
    truth = _made(tmp_path, "slow-host", source=_COMMUNICATES)
    kernels = [each for each in _events(_COMMUNICATES) if each["name"].startswith("ncclKernel")]
    assert len(truth["collectives"]) == _STEPS * len(kernels)
    for rank in range(4):
        path = tmp_path / f"rank-{rank:04d}.json.gz"
        tidy.load(path).self_check()
        assert set(_collectives(path)) == set(_by_key(truth))
    operations = {each["operation"] for each in truth["collectives"]}
    assert operations == {"allreduce", "all_to_all"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"plant": "bad-weather"}, "no plant 'bad-weather'"),
        ({"ranks": 1}, "at least two ranks"),
        ({"ranks": 8, "rank": 8}, "no rank 8 among 8"),
        ({"ranks": 6, "tensor_parallel": 4}, "6 ranks do not make groups of 4"),
        ({"ranks": 2, "plant": "slow-link"}, "several tensor groups"),
        ({"tensor_parallel": 2, "source": _RECORDED}, "the modelled step alone"),
        ({"ranks": 6, "pipeline": 4}, "6 ranks do not make groups of 4"),
    ],
)
def test_options_that_do_not_go_together(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        make_job(tmp_path, JobOptions(**options))
