"""`tidy report --summaries DIR`, and reports of summaries in place of traces."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path
from threading import Thread

import pytest

from .command import EXAMPLES, tidy, tidy_process
from .traces import clean, loop, rank, write

_FORMS = ("text", "json", "sarif", "markdown", "github")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two ranks in folders of their own, and two examples, in an order that is not by name."""
    for number in (0, 1):
        write(tmp_path / "runs" / f"rank{number}" / "trace.json", loop(), **rank(number))
    for name, example in zip(("z.json.gz", "a.json.gz"), EXAMPLES, strict=False):
        shutil.copy(example, tmp_path / "runs" / name)
    return tmp_path


def _given() -> tuple[str, ...]:
    return "runs/z.json.gz", "runs/rank1", "runs/a.json.gz", "runs/rank0"


def test_the_report_of_summaries_is_that_of_the_traces(runs: Path) -> None:
    before = [tidy("report", *_given(), "--format", form, cwd=runs) for form in _FORMS]
    kept = tidy("report", *_given(), "--summaries", "kept/all", cwd=runs)
    assert (kept.code, kept.out, kept.err) == (before[0].code, before[0].out, before[0].err)
    files = sorted((runs / "kept" / "all").iterdir())
    assert len(files) == 4
    assert all(file.name.endswith(".tidy.json.gz") for file in files)
    shutil.rmtree(runs / "runs")
    others = [str(file) for file in reversed(files)]
    for form, expected in zip(_FORMS, before, strict=True):
        for given in (["kept"], others):
            result = tidy("report", *given, "--format", form, cwd=runs)
            assert (result.code, result.out, result.err) == (expected.code, expected.out, "")


def test_a_summary_and_its_trace_count_once(runs: Path) -> None:
    expected = tidy("report", "runs", cwd=runs)
    assert tidy("report", "runs", "--summaries", "runs/kept", cwd=runs).out == expected.out
    both = tidy("report", "runs", cwd=runs)
    assert both.out == expected.out
    assert both.err.count("left out") == 4
    # Where a trace is gone its summary counts, among the ranks of its job too.
    (runs / "runs" / "rank1" / "trace.json").unlink()
    mixed = tidy("report", "runs", "--format", "json", cwd=runs).json()
    assert sorted(each["path"] for each in mixed["traces"]) == [
        "runs/a.json.gz",
        "runs/rank0/trace.json",
        "runs/rank1/trace.json",
        "runs/z.json.gz",
    ]
    assert "ranks 0-1 of 2" in tidy("report", "runs", cwd=runs).out


def test_a_trace_that_is_recorded_anew_has_one_summary(tmp_path: Path) -> None:
    for events in (loop(), clean()):
        write(tmp_path / "t.json", events)
        tidy("report", "t.json", "--summaries", "kept", cwd=tmp_path)
    assert len(list((tmp_path / "kept").iterdir())) == 1
    assert tidy("report", "kept", cwd=tmp_path).code == 0


def test_what_the_trace_alone_can_tell_is_refused(runs: Path) -> None:
    tidy("report", "runs/a.json.gz", "--summaries", "kept", cwd=runs)
    (file,) = (runs / "kept").iterdir()
    for asked in (["--step", "1"], ["--name", "aten::.*"], ["--perfetto", "p.json"]):
        result = tidy("report", file, *asked, cwd=runs)
        assert (result.code, result.out) == (2, "")
        assert result.err == f"tidy: {asked[0]}: {file} is a summary, and this needs the trace\n"
    for command in ("account", "table", "diff", "flame"):
        given = [file, file] if command == "diff" else [file]
        result = tidy(command, *given, cwd=runs)
        assert result.code == 2
        assert "a summary, which only tidy report takes" in result.err
    result = tidy("report", file, "--select", "TDY4", cwd=runs)
    assert result.err == "tidy: 1 summary: made with other rules or options, and reported as made\n"


def test_the_page_says_what_it_lacks(runs: Path) -> None:
    tidy("report", "runs/z.json.gz", "--summaries", "kept", cwd=runs)
    whole = tidy("report", "runs/z.json.gz", "--format", "html", cwd=runs)
    page = tidy("report", "kept", "--format", "html", cwd=runs)
    assert page.code == whole.code
    assert "they need the trace, and this is of its summary" in page.out
    assert "they need the trace, and this is of its summary" not in whole.out


def test_damaged_summaries_are_named_and_the_rest_is_reported(runs: Path) -> None:
    tidy("report", "runs/a.json.gz", "runs/rank0", "--summaries", "kept", cwd=runs)
    of_a, of_rank = sorted((runs / "kept").iterdir())
    of_a.write_bytes(of_a.read_bytes()[:-50])
    of_later = runs / "kept" / "later.tidy.json.gz"
    of_later.write_bytes(gzip.compress(b'{"tidy_summary":9}'))
    result = tidy("report", "kept", cwd=runs)
    assert result.code == 2
    damaged, later = sorted(result.err.splitlines())
    assert damaged.startswith(f"tidy: kept/{of_a.name}: a damaged summary (it is cut off)")
    assert later.startswith(f"tidy: kept/{of_later.name}: a summary of version 9")
    assert "runs/rank0/trace.json" in result.out
    assert of_rank.name not in result.err


@pytest.mark.parametrize("folder", ["taken", "taken/below"])
def test_a_folder_that_cannot_be_made(tmp_path: Path, folder: str) -> None:
    write(tmp_path / "t.json", clean())
    (tmp_path / "taken").write_text("")
    result = tidy("report", "t.json", "--summaries", folder, cwd=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"tidy: --summaries {folder}: ")
    assert len(result.err.splitlines()) == 1


def test_no_file_is_left_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "t.json", clean())

    def fail(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tidy.whole_file.Path.replace", fail)
    result = tidy("report", "t.json", "--summaries", "kept", cwd=tmp_path)
    assert result.code == 2
    assert "no space left on device" in result.err
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """As `tidy report <(ssh host cat trace.json)` has it."""
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    content = write(tmp_path / "t.json", loop()).read_bytes()
    writer = Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    result = tidy("report", "pipe.json", "--summaries", "kept", cwd=tmp_path)
    assert (result.code, result.err) == (1, "")
    assert tidy("report", "kept", cwd=tmp_path).out == result.out


def test_standard_input_has_a_summary_too(tmp_path: Path) -> None:
    write(tmp_path / "t.json", loop())
    given = ["report", "-", "--summaries", "kept"]
    made = tidy_process(*given, stdin=(tmp_path / "t.json").read_bytes(), cwd=tmp_path)
    assert made.err == ""
    assert tidy("report", "kept", cwd=tmp_path).out == made.out


def test_an_address_is_no_folder_for_summaries(runs: Path) -> None:
    result = tidy("report", "runs", "--summaries", "s3://bucket/kept", cwd=runs)
    problem = "this is an address; name a folder of this machine"
    assert (result.code, result.out) == (2, "")
    assert result.err == f"tidy: --summaries s3://bucket/kept: {problem}\n"
    assert [each.name for each in runs.iterdir()] == ["runs"]
