"""`tidy table`, in a process of its own."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

import tidy as package

from ..cli.command import EXAMPLES, tidy, tidy_process
from ..cli.terminal import on_terminal
from ..cli.traces import clean, event, loop, text, write

pytestmark = pytest.mark.slow  # each case starts processes


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path / "loop.json", loop(rounds=3))


def test_the_table_of_a_trace(trace: Path) -> None:
    """What a pipe gets is what `Trace.table` gives, sorted by the time each row took itself."""
    result = tidy("table", trace)
    assert (result.code, result.err) == (0, "")
    assert result.out == package.load(trace).table(sort_by="self_cpu_time_total")
    assert result.lines[3].split()[-1] == "1"


def test_rows(tmp_path: Path) -> None:
    many = write(tmp_path / "many.json", [event("cpu_op", f"op{i}", 9 * i, 1) for i in range(30)])
    result = tidy("table", many)
    assert result.lines[-1] == "... and 10 more rows (--rows 0 shows all)"
    assert sum("op" in line for line in result.lines) == 20
    assert sum(" op" in line for line in tidy("table", many, "--rows", "3").lines) == 3
    everything = tidy("table", many, "--rows", "0")
    assert everything.lines[-1].startswith("Self CPU time total")
    assert sum(" op" in line for line in everything.lines) == 30


def test_options_that_choose_rows(trace: Path) -> None:
    by_calls = tidy("table", trace, "--sort-by", "count").lines
    assert [line.split()[-1] for line in by_calls[3:6]] == ["3", "3", "1"]
    assert "aten::" not in tidy("table", trace, "--top-level").out
    assert "Source Location" in tidy("table", trace, "--group-by-stack", "2").out
    name = "n" * 90
    long = write(trace.parent / "long.json", [event("cpu_op", name, 0, 1)])
    assert name not in tidy("table", long).out
    assert name in tidy("table", long, "--name-width", "0").out


def test_an_unknown_key_names_the_known_ones(trace: Path) -> None:
    result = tidy("table", trace, "--sort-by", "time")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("tidy: --sort-by: cannot sort by 'time'; it is one of: cpu_time, ")
    assert len(result.err.splitlines()) == 1


def test_what_was_not_recorded_is_said(trace: Path) -> None:
    result = tidy("table", trace, "--group-by-shape", "--sort-by", "self_cuda_time_total")
    assert result.code == 0
    assert [line.partition(": no ")[2] for line in result.err.splitlines()] == [
        "input shapes recorded; record with record_shapes=True",
        "device activity recorded; record with activities=[ProfilerActivity.CPU, "
        "ProfilerActivity.CUDA]",
    ]


def test_several_traces_have_headings(tmp_path: Path) -> None:
    for name in ("a.json", "b.json.gz"):
        write(tmp_path / name, clean())
    result = tidy("table", "b.json.gz", "a.json", cwd=tmp_path)
    assert [line for line in result.lines if ".json" in line] == ["b.json.gz", "a.json"]
    assert result.out.count("Self CPU time total: 10.000us") == 2


def test_unreadable_traces_do_not_stop_the_others(trace: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("no json")
    result = tidy("table", broken, tmp_path / "absent.json", trace)
    assert result.code == 2
    assert "aten::select" in result.out
    assert [line.split(": ")[1] for line in result.err.splitlines()] == [
        str(broken),
        str(tmp_path / "absent.json"),
    ]
    assert tidy("table", broken).out == ""


def test_standard_input(trace: Path) -> None:
    assert tidy_process("table", "-", stdin=text(loop(rounds=3))).out == tidy("table", trace).out


def test_json(trace: Path) -> None:
    document = tidy("table", trace, "--format", "json").json()
    assert document["schema_version"] == 1
    (found,) = document["traces"]
    assert found["path"] == str(trace)
    assert (found["self_cpu_time_total_ns"], found["self_device_time_total_ns"]) == (100_000, None)
    frame, select, _ = found["rows"]
    assert (frame["key"], frame["self_cpu_time_total_ns"]) == ("train.py(3): fill", 94_000)
    assert (select["count"], select["cpu_time_total_ns"]) == (3, 3_000)
    assert select["cpu_memory_usage"] is select["flops"] is select["stack"] is None
    grouped = tidy("table", trace, "--format", "json", "--group-by-stack", "1").json()
    assert grouped["traces"][0]["rows"][1]["stack"] == ["train.py(3): fill"]
    absent = tidy("table", trace.parent / "absent.json", "--format", "json")
    assert absent.code == 2
    assert len(absent.json()["unreadable"]) == 1


def test_csv(trace: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(tidy("table", trace, "--format", "csv").out)))
    assert [(row["path"], row["key"], row["count"]) for row in rows] == [
        (str(trace), "train.py(3): fill", "1"),
        (str(trace), "aten::select", "3"),
        (str(trace), "aten::fill_", "3"),
    ]
    assert rows[0]["self_cpu_time_total_ns"] == "94000"
    assert rows[0]["device_time_total_ns"] == ""


@pytest.mark.slow
def test_csv_holds_nothing_that_a_terminal_or_a_spreadsheet_would_run(tmp_path: Path) -> None:
    names = ["\x1b[31mred\x07", "=1+2", "@SUM(A1)", "-1+1", "a\nb,c", "plain=2"]
    events = [event("cpu_op", name, 10.0 * i, 5) for i, name in enumerate(names)]
    written = tidy("table", write(tmp_path / "odd.json", events), "--format", "csv").out
    assert not [char for char in written if not char.isprintable() and char != "\n"]
    cells = {row["key"] for row in csv.DictReader(io.StringIO(written))}
    assert cells == {"?[31mred?", "'=1+2", "'@SUM(A1)", "'-1+1", "a?b,c", "plain=2"}


@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_output_to_a_file(form: str, tmp_path: Path) -> None:
    file = tmp_path / "table"
    result = tidy("table", EXAMPLES[0], "--format", form, "-o", file)
    assert (result.code, result.out, result.err) == (0, "", "")
    assert file.read_bytes().decode() == tidy("table", EXAMPLES[0], "--format", form).out
    result = tidy("table", EXAMPLES[0], "--format", form, "-o", tmp_path / "absent" / "table")
    assert result.code == 2
    assert "cannot be written: no such folder" in result.err


def test_nothing_is_written_where_nothing_could_be_read(tmp_path: Path) -> None:
    file = tmp_path / "table"
    assert tidy("table", tmp_path / "absent.json", "-o", file).code == 2
    assert not file.exists()


def test_a_trace_without_rows_is_said(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.json", [event("Trace", "PyTorch Profiler (0)", 0, 5)])
    result = tidy("table", empty)
    assert (result.code, result.out) == (0, "")
    assert result.err == f"tidy: {empty}: no ops, ranges or kernels in it\n"


def test_a_narrow_terminal_gets_what_fits(trace: Path) -> None:
    """The column that it is sorted by stays, and what is not shown is named."""
    pytest.importorskip("termios", reason="there are terminals like this on POSIX only")

    def on_columns(columns: int, *more: str) -> list[str]:
        shown = on_terminal("table", trace, *more, columns=columns)
        assert shown.code == 0
        return shown.lines

    shown = on_columns(80)
    assert max(map(len, shown[:-2])) <= 80
    assert shown[1].split("  ")[-1] == "# of Calls"
    assert "Self CPU %" not in shown[1]
    (left_out,) = (line for line in shown if line.startswith("Not shown on a terminal this narrow"))
    assert "Self CPU %" in left_out
    assert "CPU time avg" not in on_columns(70)[1]
    assert "CPU time avg" in on_columns(70, "--sort-by", "cpu_time")[1]
    assert on_columns(200) == [line.rstrip() for line in tidy("table", trace).lines]
