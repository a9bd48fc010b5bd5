"""What may be given as TRACE: files, folders, standard input, the ranks of a job."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ..account_lines import without_account
from .command import EXAMPLES, tidy, tidy_process
from .traces import clean, loop, rank, text, write


def _paths(tmp_path: Path, *given: str | Path) -> tuple[int, list[str], str]:
    """Exit code, paths of the traces read as the JSON report has them, and stderr."""
    result = tidy("report", *given, "--format", "json", cwd=tmp_path)
    return result.code, [trace["path"] for trace in result.json()["traces"]], result.err


def test_several_traces_come_in_order_and_once(tmp_path: Path) -> None:
    for name in ("b.json", "a.json.gz"):
        write(tmp_path / name, clean())
    assert _paths(tmp_path, "b.json", "a.json.gz", "b.json") == (0, ["b.json", "a.json.gz"], "")
    result = tidy("report", "b.json", "a.json.gz", cwd=tmp_path)
    assert [line for line in result.lines if ".json" in line] == ["b.json", "a.json.gz"]
    assert result.lines[-1].endswith("in 2 traces")


def test_a_folder_is_searched_for_traces(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "b.pt.trace.json", clean())
    write(tmp_path / "logs" / "run1" / "a.pt.trace.json.gz", clean())
    (tmp_path / "logs" / "notes.txt").write_text("{")
    found = [str(Path("logs", name)) for name in ("b.pt.trace.json", "run1/a.pt.trace.json.gz")]
    assert _paths(tmp_path, "logs") == (0, found, "")
    # What is given itself and found too is read once.
    assert _paths(tmp_path, found[1], "logs") == (0, [found[1], found[0]], "")


def test_other_json_in_a_folder_is_left_out_and_counted(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.json", clean())
    (tmp_path / "logs" / "settings.json").write_text('{"lr": 0.1}')
    code, paths, problems = _paths(tmp_path, "logs")
    assert (code, paths) == (0, [str(Path("logs", "a.json"))])
    assert problems.startswith("tidy: logs: 1 other JSON file")
    assert _paths(tmp_path, "logs", str(Path("logs", "a.json"))) == (code, paths, problems)
    # A file that was asked for is another matter.
    code, _, problems = _paths(tmp_path, "logs", str(Path("logs", "settings.json")))
    assert code == 2
    assert str(Path("logs", "settings.json")) in problems


@pytest.mark.parametrize("content", ["", '{"lr": 0.1}'])
def test_a_folder_without_traces_is_a_problem(tmp_path: Path, content: str) -> None:
    (tmp_path / "logs").mkdir()
    if content:
        (tmp_path / "logs" / "settings.json").write_text(content)
    result = tidy("report", "logs", cwd=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("tidy: logs: a folder without traces")
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(packed: bool) -> None:
    content = gzip.compress(text(loop())) if packed else text(loop())
    result = tidy_process("report", "-", stdin=content)
    assert (result.code, result.err, result.lines[0]) == (1, "", "<stdin>")


def test_empty_standard_input() -> None:
    result = tidy_process("report", "-")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("tidy: <stdin>: ")


def test_the_packing_is_told_by_the_content(tmp_path: Path) -> None:
    (tmp_path / "plain.json.gz").write_bytes(text(clean()))
    (tmp_path / "packed.json").write_bytes(EXAMPLES[0].read_bytes())
    code, paths, problems = _paths(tmp_path, "plain.json.gz", "packed.json")
    assert (code, paths, problems) == (1, ["plain.json.gz", "packed.json"], "")


def test_ranks_of_a_job_are_reported_together(tmp_path: Path) -> None:
    """Rank 1 has the longer loop: 28 ops of 1 us, and as long a pause between any two of them."""
    write(tmp_path / "r1.json", loop(rounds=14), **rank(1))
    write(tmp_path / "r0.json", loop(rounds=12), **rank(0))
    write(tmp_path / "alone.json", clean())
    result = tidy("report", "r1.json", "alone.json", "r0.json", cwd=tmp_path)
    assert result.lines[:2] == ["r0.json", "r1.json"]
    assert "ranks 0-1 of 2" in result.lines[2]
    assert [line.split() for line in without_account(result.lines) if "train.py" in line] == [
        "train.py:3 in fill() x2 55.0 us 55.0% of run".split()
    ]
    assert "    14 rounds index a tensor element by element (ranks 0-1)" in result.lines
    assert result.lines[-1].startswith("1 warning")
    assert result.lines[-1].endswith("in 3 traces")


def test_one_rank_of_a_job_says_so(tmp_path: Path) -> None:
    write(tmp_path / "r3.json", clean(), **rank(3, world_size=8))
    assert "rank 3 of 8" in tidy("report", "r3.json", cwd=tmp_path).lines[1]
