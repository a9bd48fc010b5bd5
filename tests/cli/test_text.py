"""The text report: it fits a terminal, is whole elsewhere, and holds nothing that a trace could
smuggle in.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from ..environment import SOAK
from .command import EXAMPLES, Result, tidy, tidy_process
from .terminal import on_terminal
from .traces import Event, clean, event, loop, write

_LONG = "a_name_without_any_place_to_break_it_" * 8
_HOSTILE = "\x1b[31mred\x1b]0;title\x07\r\x9b2J\u202e\u2028\t"


def _cells(line: str) -> int:
    """Columns that a line takes on a terminal."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line)


def _check_layout(result: Result, columns: int = 80) -> None:
    assert result.lines
    for line in result.lines:
        assert _cells(line) <= columns, line
        assert line == line.rstrip(), "trailing blanks"
    assert not [char for char in result.out if char != "\n" and not char.isprintable()]


def _shifted(events: list[Event], by_us: float) -> list[Event]:
    """The same later, after a product that parts one loop from the next."""
    parted = [event("cpu_op", "aten::mm", -5, 1), *events]
    return [{**each, "ts": each["ts"] + by_us} for each in parted]


def _on_terminal(*given: str | Path, columns: int = 80) -> Result:
    pytest.importorskip("pty", reason="there are terminals like this on POSIX only")
    shown = on_terminal(*given, columns=columns, NO_COLOR="1")
    return Result(shown.code, re.sub(r"\x1b\[[\d;]*m", "", shown.out), "")


@pytest.mark.parametrize("columns", [40, 80, 100] if SOAK else [40, 100])
def test_examples(columns: int) -> None:
    given = ("report", *EXAMPLES, "--name", ".", "--fail-on", "never")
    result = _on_terminal(*given, columns=columns)
    assert result.code == 0
    _check_layout(result, columns)


def test_long_names(tmp_path: Path) -> None:
    folders = "/".join(["a_long_folder"] * 20)
    frames = [
        f"{folders}/train.py(3): fill",
        f"{_LONG}.py(3): fill",
        f"train.py(3): {_LONG}",
        f"{folders}/train.py(123456): {_LONG}",
        f"{_LONG} with blanks/in it/ü.py(3): <lambda>",
        "训练/" * 30 + "模型.py(3): 填充",
    ]
    events = [
        each for i, frame in enumerate(frames) for each in _shifted(loop(frame), 1000.0 * (i + 1))
    ]
    named = event("cpu_op", f"aten::{_LONG}", 8000, 1)
    trace = write(tmp_path / _LONG[:100] / _LONG[:100] / "trace.json", [*events, named])
    given = ("report", trace, "--name", _LONG, "--select", "TDY", "--fail-on", "never")
    result = _on_terminal(*given)
    assert result.code == 0
    _check_layout(result)
    assert result.lines[0].endswith("/trace.json")
    places = [line for line in result.lines if " x1 " in line]
    # Long paths, and long names of functions, lose their middle.
    assert any(re.search(r" a_lo\w*\.\.\..*older/train\.py:3 in fill\(\)", line) for line in places)
    assert any(re.search(r" train\.py:3 in a_name\w+\.\.\.\w+\(\)", line) for line in places)
    assert any(re.search(r"/train\.py:123456 in a_\w+\.\.\.\w+\(\)", line) for line in places)


def test_paths_are_whole_where_they_are_no_longer_seen_but_used(tmp_path: Path) -> None:
    """In a pipe and in a file, whatever the width; prose is broken between words."""
    file = "/".join(["a_long_folder"] * 20) + "/train.py"
    trace = write(tmp_path / _LONG[:100] / _LONG[:100] / "trace.json", loop(f"{file}(3): fill"))
    output = tmp_path / "report.txt"
    for given in ((), ("--width", "60"), ("--output", output)):
        result = tidy("report", trace, *given)
        lines = output.read_text().splitlines() if output in given else result.lines
        assert lines[0] == str(trace)
        assert [line.split()[0] for line in lines if " x1 " in line] == [f"{file}:3"]
        widest = 60 if "60" in given else 80
        assert [line for line in lines if _cells(line) > widest and file not in line] == [
            str(trace)
        ]


@pytest.mark.parametrize("how", ["option", "variable", "both"])
def test_the_width_is_as_asked(tmp_path: Path, how: str) -> None:
    trace = write(tmp_path / "t.json", loop())
    option = () if how == "variable" else ("--width", "120")
    variable = {"option": {}, "variable": {"COLUMNS": "120"}, "both": {"COLUMNS": "50"}}[how]
    for command in (("report",), ("account",)):
        result = tidy(*command, trace, *option, **variable)
        assert max(map(_cells, result.lines)) == 120


def test_quiet_is_a_line_a_finding(tmp_path: Path) -> None:
    bad, good = write(tmp_path / "bad.json", loop()), write(tmp_path / "good.json", clean())
    result = tidy("report", bad, good, "--quiet")
    assert (result.code, result.err) == (1, "")
    said = "train.py:3: TDY404 for-loop-indexing warning: "
    assert result.lines == [f"{said}12 iterations index a tensor element by element"]
    assert tidy("report", good, "-q").out == ""
    output = tmp_path / "report.txt"
    output.write_text("of an earlier run")
    assert tidy("report", good, "-q", "-o", output).code == 0
    assert output.read_text() == ""


def test_hostile_names(tmp_path: Path) -> None:
    device = [{"id": 0, "name": f"GPU {_HOSTILE}"}]
    kernel = event("kernel", f"kernel {_HOSTILE}", 200, 5, device=0, stream=7)
    events = [*loop(f"{_HOSTILE}train.py(3): fill{_HOSTILE}"), {**kernel, "pid": 0, "tid": 7}]
    trace = write(tmp_path / "trace.json", events, deviceProperties=device)
    result = _on_terminal("report", trace, "--name", "kernel")
    assert result.code == 0
    # The loop is over before the only work of the device, in no time that counts.
    assert "TDY404 for-loop-indexing info" in result.lines
    assert "TDY000 named-event info" in result.lines
    _check_layout(result)
    written = tidy("report", trace, "--name", "kernel", "--format", "json")
    assert not [char for char in written.out if char != "\n" and not char.isprintable()]
    assert _HOSTILE in written.json()["traces"][0]["devices"][0]["name"]


def test_hostile_file_names_in_messages(tmp_path: Path) -> None:
    result = tidy("report", "\x1b[31mabsent.json", cwd=tmp_path)
    assert result.err.startswith("tidy: ?[31mabsent.json: ")


def test_windows_paths_are_shown_whole(tmp_path: Path) -> None:
    trace = write(tmp_path / "trace.json", loop(r"C:\Users\me\train.py(3): fill"))
    result = tidy("report", trace)
    assert [line.split()[0] for line in result.lines if " x1 " in line] == [
        "C:/Users/me/train.py:3"
    ]


def _on_ascii(*given: str | Path) -> Result:
    return tidy_process(*given, PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")


def test_an_ascii_terminal_gets_question_marks(tmp_path: Path) -> None:
    trace = write(tmp_path / "trace.json", loop("/home/jürgen/训练.py(3): fill"))
    result = _on_ascii("report", trace, "--patterns", tmp_path / "ü.py")
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    result = _on_ascii("report", trace)
    assert (result.code, result.err) == (1, "")
    assert [line.split()[0] for line in result.lines if " x1 " in line] == ["/home/j?rgen/??.py:3"]


def test_verbose_names_the_rules_that_do_not_apply() -> None:
    brief, whole = (tidy("report", EXAMPLES[0], *given) for given in ((), ("--verbose",)))
    assert [line for line in whole.lines if line.startswith("Does not apply: ")]
    (line,) = [line for line in brief.lines if line.endswith("do not apply (--verbose lists them)")]
    assert int(line.split()[0]) > 3
    assert "Does not apply" not in brief.out
