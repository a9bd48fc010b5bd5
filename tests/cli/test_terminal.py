"""On a terminal: colours, widths, and a bar for long reads."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from .command import EXAMPLES, tidy
from .terminal import on_terminal
from .traces import event, text

pytest.importorskip("pty", reason="there are terminals like this on POSIX only")

_STYLE = re.compile(r"\x1b\[[\d;]*m")
_COLOUR = re.compile(r"\x1b\[(?:[\d;]*;)?(?:3\d|4\d|9\d|10\d)(?:;[\d;]*)?m")


def _on_terminal(*given: str | Path, columns: int = 80, **more: Any) -> str:
    shown = on_terminal(*given, columns=columns, **more)
    assert shown.code in {0, 1}
    return shown.out


def test_colours_on_a_terminal_only() -> None:
    trace = EXAMPLES[0]
    shown = _on_terminal("report", trace)
    assert _COLOUR.search(shown)
    assert "TDY404 for-loop-indexing warning" in _STYLE.sub("", shown)
    assert not _COLOUR.search(_on_terminal("report", trace, NO_COLOR="1"))
    assert "\x1b" not in _on_terminal("report", trace, TERM="dumb")
    assert _COLOUR.search(tidy("report", trace, FORCE_COLOR="1").out)


@pytest.mark.parametrize(
    ("columns", "more"),
    [(columns, {"NO_COLOR": "1"}) for columns in (1, 60, 90, 300)] + [(60, {"TERM": "dumb"})],
)
def test_a_report_fits_its_terminal_but_stays_readable(columns: int, more: dict[str, str]) -> None:
    shown = _on_terminal("report", EXAMPLES[0], columns=columns, **more)
    widest = max(len(line) for line in _STYLE.sub("", shown).splitlines())
    assert 30 < widest <= min(max(columns, 40), 100)


def test_rules_are_listed_without_colour() -> None:
    assert not _COLOUR.search(_on_terminal("rules", NO_COLOR="1"))


def test_a_small_file_needs_no_bar() -> None:
    with Path(os.devnull).open("wb") as nothing:
        shown = _on_terminal("report", EXAMPLES[0], stdout=nothing.fileno())
    assert shown == ""


@pytest.mark.slow
def test_a_bar_for_long_reads(tmp_path: Path) -> None:
    """65 MiB: an event of 64 KiB, written 1,040 times."""
    path = tmp_path / "large.json"
    head, end = text([]).split(b"]")
    (each,) = re.findall(
        rb"\[(.*)\]", text([event("cpu_op", "aten::add", 1, 1, pad="x" * (1 << 16))])
    )
    with path.open("wb") as file:
        file.write(head + each)
        for _ in range(1039):
            file.write(b"," + each)
        file.write(b"]" + end)
    with Path(os.devnull).open("wb") as nothing:
        shown = _on_terminal("report", path, stdout=nothing.fileno())
    assert "reading" in shown
    assert "MB" in shown
    with (tmp_path / "errors").open("w+b") as errors:
        shown = _on_terminal("report", path, stderr=errors.fileno())
        errors.seek(0)
        assert errors.read() == b""
    assert "reading" not in shown
    assert "Nothing found" in shown


# Of what a command shows, code, recorded names as they are, and JSON are not broken.
_NOT_BROKEN = {"explain": " " * 4}
_SHOWN: list[tuple[str | Path, ...]] = [
    ("report", EXAMPLES[0]),
    ("report", EXAMPLES[0], "--quiet"),
    ("report", *EXAMPLES),
    ("account", EXAMPLES[0], "--by-line", "--by-step"),
    ("table", EXAMPLES[0]),
    ("table", EXAMPLES[0], "--sort-by", "cpu_memory_usage", "--rows", "3"),
    ("diff", EXAMPLES[0], EXAMPLES[1], "--allow", "all"),
    ("rules",),
    ("explain", "TDY"),
    ("config",),
    ("--help",),
    *((command, "--help") for command in ("run", "verify", "baseline", "diff", "new-rule")),
]


@pytest.mark.parametrize("given", _SHOWN, ids=lambda given: "-".join(map(str, given))[:30])
def test_each_command_fits_its_terminal(given: tuple[str | Path, ...]) -> None:
    shown = _STYLE.sub("", _on_terminal(*given, columns=60))
    whole = _NOT_BROKEN.get(str(given[0]), "\0")
    wide = [line for line in shown.splitlines() if len(line) > 60 and not line.startswith(whole)]
    assert wide == []
    assert max(map(len, shown.splitlines())) > 40


def test_rows_of_a_table_are_lines_on_a_narrow_terminal() -> None:
    """None is broken in two: the names are shortened."""
    shown = _STYLE.sub("", _on_terminal("account", EXAMPLES[0], "--by-line", columns=60))
    rows = shown.split("with most time\n")[1].splitlines()
    assert [row.split() for row in rows[:1]] == [["host", "device"]]
    assert [row for row in rows[1:] if row and not row.endswith((" ms", " us"))] == []
    shown = _on_terminal("diff", *EXAMPLES[:2], "--allow", "all", columns=60, NO_COLOR="1")
    rows = _STYLE.sub("", shown).split("Where an average step goes\n")[1].split("\n\n")[0]
    head, *parts = rows.splitlines()
    assert head.split() == ["BASE", "NEW", "of", "a", "step"]
    assert parts
    assert [part for part in parts if not re.search(r"[-+]\d+\.\d%$", part)] == []
