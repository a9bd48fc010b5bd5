"""What may be given as TRACE: files, folders, standard input, the ranks of a job."""

from __future__ import annotations

import gzip
import tarfile
import zipapp
import zipfile
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
        "train.py:3 in fill() x2 55.0 us 55.0% of run on rank 1".split()
    ]
    said = "    on rank 1: 14 iterations index a tensor element by element (all ranks: 47.0"
    assert said in result.lines
    assert result.lines[-1].startswith("1 warning")
    assert result.lines[-1].endswith("in 3 traces")


def test_one_rank_of_a_job_says_so(tmp_path: Path) -> None:
    write(tmp_path / "r3.json", clean(), **rank(3, world_size=8))
    assert "rank 3 of 8" in tidy("report", "r3.json", cwd=tmp_path).lines[1]


_SCRIPT = "import torch\nprint(torch.zeros(3))\n"


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        (("report",), "tidy run"),
        (("account",), "tidy run --trace trace.json"),
        (("table",), "tidy run --trace trace.json"),
        (("diff", "trace.json"), "tidy run --trace trace.json"),
        (("baseline",), "tidy baseline --run"),
    ],
)
def test_a_script_where_a_trace_is_wanted(
    tmp_path: Path, given: tuple[str, ...], instead: str
) -> None:
    write(tmp_path / "trace.json", clean())
    (tmp_path / "my train.py").write_text(_SCRIPT)
    result = tidy(*given, "my train.py", cwd=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[0] == (
        f"tidy: my train.py: a Python script, not a trace: `{instead} 'my train.py'` records one"
    )


def test_a_notebook_is_neither(tmp_path: Path) -> None:
    (tmp_path / "train.ipynb").write_text('{"cells": [], "nbformat": 4}')
    for command, wanted in (("report", "trace"), ("run", "script")):
        result = tidy(command, "train.ipynb", cwd=tmp_path)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(f"tidy: train.ipynb: a Jupyter notebook, not a {wanted}: ")
        assert len(result.err.splitlines()) == 1


def _traces_of_any_kind(folder: Path) -> list[str]:
    write(folder / "trace.json", clean())
    write(folder / "trace.json.gz", clean())
    write(folder / "runs" / "trace.json", clean())
    with zipfile.ZipFile(folder / "trace.zip", "w") as archive:
        archive.write(folder / "trace.json", "trace.json")
    (folder / "cut.zip").write_bytes((folder / "trace.zip").read_bytes()[:100])
    (folder / "trace.sqlite").write_bytes(b"SQLite format 3\0" + bytes(100))
    with tarfile.open(folder / "traces.tar", "w") as archive:
        archive.add(folder / "trace.json", "trace.json")
    (folder / "trace.pt").write_bytes((folder / "trace.json").read_bytes())
    packed = ["trace.json.gz", "trace.zip", "cut.zip", "traces.tar"]
    return ["trace.json", "trace.pt", *packed, "trace.sqlite", "runs"]


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        (("run",), "tidy report"),
        (("verify",), "tidy report"),
        (("baseline", "--run"), "tidy baseline"),
    ],
)
def test_a_trace_where_a_script_is_wanted(
    tmp_path: Path, given: tuple[str, ...], instead: str
) -> None:
    for trace in _traces_of_any_kind(tmp_path):
        result = tidy(*given, trace, cwd=tmp_path)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(f"tidy: {trace}: a ")
        assert f": `{instead} {trace}` " in result.err
        assert len(result.err.splitlines()) == 1


@pytest.mark.slow
def test_what_python_runs_is_run(tmp_path: Path) -> None:
    """A folder, an archive, and a script of any name."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("print('it ran')")
    zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz")
    (tmp_path / "script.txt").write_text("['it ran']; print('it ran')")
    for script in ("app", "app.pyz", "script.txt"):
        assert tidy("run", script, cwd=tmp_path).out == "it ran\n"


def test_a_name_that_no_event_has(tmp_path: Path) -> None:
    write(tmp_path / "trace.json", clean())
    known = tidy("report", EXAMPLES[0], "--name", "aten::add")
    assert known.err == ""
    for wrong, alike in (("aten::cnov2d", "aten::conv2d"), ("Conv2D", "aten::conv2d")):
        result = tidy("report", EXAMPLES[0], "--name", wrong)
        assert (result.code, result.out) == (known.code, tidy("report", EXAMPLES[0]).out)
        assert result.err.startswith(
            f"tidy: --name {wrong}: no event has a name that matches: did you mean "
        )
        assert alike in result.err
        assert result.err.endswith("? `tidy table TRACE --rows 0` lists names\n")
    result = tidy("report", "trace.json", "--name", "nothing-like-it", cwd=tmp_path)
    assert result.err == (
        "tidy: --name nothing-like-it: no event has a name that matches: "
        "`tidy table TRACE --rows 0` lists names\n"
    )


def test_options_stand_anywhere_but_behind_a_script(tmp_path: Path) -> None:
    write(tmp_path / "trace.json", loop())
    result = tidy("baseline", "trace.json", "-o", "known.json", "--select", "TDY404", cwd=tmp_path)
    assert (result.code, result.err) == (0, "")
    assert (tmp_path / "known.json").exists()
    (tmp_path / "script.py").write_text("import sys\nsys.exit(' '.join(sys.argv[1:]))\n", "utf-8")
    result = tidy_process("baseline", "--run", "script.py", "-o", "x.json", "--prune", cwd=tmp_path)
    assert result.err.startswith("-o x.json --prune\n")
