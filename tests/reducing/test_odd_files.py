"""Files beside those of a job: of no rank, of no bytes, and summaries of its ranks."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from job_maker import JobOptions, make_job

from ..cli.command import Result, tidy
from ..environment import pairs


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four ranks, of which rank 1 is slow."""
    runs = tmp_path_factory.mktemp("odd") / "runs"
    make_job(runs, JobOptions(ranks=4, plant="slow-gpu", steps=4, seed=3, rank=1))
    (runs / "truth.json").unlink()
    return runs


@pytest.fixture
def job(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "runs"))


@pytest.fixture(params=["few", "many"])
def how_many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether ranks are compared by their traces, or, as of more than 64, by their tables."""
    if request.param == "many":
        monkeypatch.setattr("tidy.readers.text_size._MOST_FILES", 1)
    return str(request.param)


def _report(runs: Path) -> Result:
    return tidy("report", runs.name, "--format", "json", cwd=runs.parent)


def _late_ranks(result: Result) -> dict[str, list[str]]:
    """What TDY902 says of each file."""
    return {
        Path(each["path"]).name.partition(".")[0]: [
            finding["message"] for finding in each["findings"] if finding["code"] == "TDY902"
        ]
        for each in result.json()["traces"]
    }


def _not_checked(result: Result) -> dict[str, str]:
    """Why TDY902 was not checked, by file."""
    return {
        Path(trace["path"]).name: each["reason"]
        for trace in result.json()["traces"]
        for each in trace["not_checked"]
        if each["code"] == "TDY902"
    }


@pytest.mark.usefixtures("how_many")
def test_a_file_of_a_negative_rank_keeps_the_others_compared(job: Path) -> None:
    path = job / "rank-0003.json.gz"
    content: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    content["distributedInfo"]["rank"] = -5
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    result = _report(job)
    assert result.code == 1
    said = _late_ranks(result)
    assert len(said) == 4
    for rank in "02":
        (message,) = said[f"rank-000{rank}"]
        assert message.startswith(f"rank {rank} waits for rank 1, which comes last to ")
    (compared,) = result.json()["jobs"]
    assert compared["unknown"] == ["ranks are not compared: their numbers are those of no job"]


@pytest.mark.usefixtures("how_many")
@pytest.mark.parametrize(
    ("how_many", "name"),
    pairs(("few", "many"), ("empty.json", "empty.json.gz", "sub/empty.json")),
    indirect=["how_many"],
)
def test_an_empty_file_in_a_folder_is_named_and_the_others_are_reported(
    job: Path, name: str
) -> None:
    expected = _late_ranks(_report(job))
    (job / name).parent.mkdir(exist_ok=True)
    (job / name).touch()
    result = _report(job)
    assert result.code == 2
    (line,) = [line for line in result.err.splitlines() if name in line]
    assert line.startswith(f"tidy: runs/{name}: this is an empty file")
    assert [each["path"] for each in result.json()["unreadable"]] == [f"runs/{name}"]
    assert _late_ranks(result) == expected


@pytest.mark.usefixtures("how_many")
def test_ranks_of_which_some_are_summaries_are_not_compared_by_their_traces(
    job: Path, tmp_path: Path
) -> None:
    """Where both are given the trace is reported, which was compared with the traces alone."""
    tidy("report", "runs", "--summaries", "kept", cwd=tmp_path)
    (job / "rank-0003.json.gz").unlink()
    for each in (tmp_path / "kept").iterdir():
        shutil.copy(each, job)
    result = _report(job)
    assert result.code == 1
    assert result.err.count("the same steps as runs/rank-000") == 3
    said = _late_ranks(result)
    assert [name for name, messages in said.items() if messages] == ["rank-0003"]
    assert _not_checked(result) == {
        f"rank-000{rank}.json.gz": "some ranks are given as summaries" for rank in range(3)
    }
    (compared,) = result.json()["jobs"]
    assert compared["missing_ranks"] == []
    assert [each["ranks"] for each in compared["late"]] == [[1]]
