"""The table as text and as HTML."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidy.averages.columns import COLUMNS, FIELDS, SORT_KEYS
from tidy.cli import cli

from ..conftest import ReadEvents
from ..trace.kineto import mark, op

_EVENTS = [op("aten::linear", 0, 3000), op("aten::t", 100, 500), op("aten::t", 2000, 250.5)]


def _names(table: str) -> list[str]:
    """The first cells of the rows, which hold no blanks."""
    lines = table.splitlines()
    rules = [number for number, line in enumerate(lines) if line.startswith("---")]
    return [line.split()[0] for line in lines[rules[1] + 1 : rules[2]]]


def test_layout(read_events: ReadEvents) -> None:
    """Written by hand: self times are 2249.5 us of 3000, and 750.5 us in two calls."""
    rule = "-" * 16 + ("  " + "-" * 12) * 6 + "  "
    expected = [
        rule,
        "            Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg"
        "    # of Calls  ",
        rule,
        "    aten::linear        74.98%       2.249ms       100.00%       3.000ms       3.000ms"
        "             1  ",
        "         aten::t        25.02%     750.500us        25.02%     750.500us     375.250us"
        "             2  ",
        rule,
        "Self CPU time total: 3.000ms",
        "",
    ]
    assert read_events(_EVENTS).table().split("\n") == expected
    assert str(read_events(_EVENTS).key_averages()).split("\n") == expected


def test_a_header_and_top_level_events(read_events: ReadEvents) -> None:
    table = read_events(_EVENTS).table(header="my run", top_level_events_only=True)
    lines = table.splitlines()
    assert lines[0] == "=" * (len(lines[4]) - 2)
    assert lines[1] == "my run"
    assert lines[2] == lines[0]
    assert "top-level" in lines[3]
    assert _names(table) == ["aten::linear"]
    assert lines[-1] == "Self CPU time total: 3.000ms"


def test_sorting_and_row_limits(read_events: ReadEvents) -> None:
    trace = read_events(_EVENTS)
    assert _names(trace.table(sort_by="count")) == ["aten::t", "aten::linear"]
    assert _names(trace.table(sort_by="count", row_limit=1)) == ["aten::t"]
    assert _names(trace.table(row_limit=0)) == []
    for every in (-1, None):
        assert len(_names(trace.table(row_limit=every))) == 2


def test_what_cannot_be_asked_for(read_events: ReadEvents) -> None:
    trace = read_events(_EVENTS)
    with pytest.raises(ValueError, match=r"cannot sort by 'nonsense'.*self_cpu_time_total.*count"):
        trace.table(sort_by="nonsense")
    with pytest.raises(ValueError, match="s, ms, us"):
        trace.table(time_unit="minutes")


def test_units_of_time(read_events: ReadEvents) -> None:
    events = [op("a", 0, 2_500_000), op("b", 3_000_000, 999.999), op("c", 4_000_000, 1000)]
    table = read_events(events).table()
    for text in (" 2.500s ", " 999.999us ", " 1.000ms "):
        assert text in table
    assert " 2500.000ms " in read_events(events).table(time_unit="ms")


def test_long_names_are_cut(read_events: ReadEvents) -> None:
    trace = read_events([op("n" * 80, 0, 1)])
    assert f"\n{'n' * 52}...  " in trace.table()
    assert "n" * 80 in trace.table(max_name_column_width=None)
    assert f"{'n' * 17}... " in trace.table(max_name_column_width=20)


def test_names_cannot_break_a_line(read_events: ReadEvents) -> None:
    lines = read_events([mark("a\nb\x1b[31m\tc", 0, 1)]).table().splitlines()
    assert len(lines) == 6
    assert lines[3].strip().startswith("a?b?[31m?c ")


def test_no_events_make_no_table(read_events: ReadEvents) -> None:
    nothing = read_events([{**op("Trace", 0, 5), "cat": "Trace"}])
    assert nothing.table() == ""
    assert nothing.key_averages() == []
    assert nothing.key_averages().total_average().count == 0
    assert "no events" in nothing.key_averages()._repr_html_()


def test_events_without_duration_have_no_shares(read_events: ReadEvents) -> None:
    assert "NaN" in read_events([op("a", 0, 0)]).table()


def test_html_has_the_same_cells_and_no_markup_of_names(read_events: ReadEvents) -> None:
    averages = read_events([*_EVENTS, mark("<script>alert('&')", 5000, 1)]).key_averages()
    html = averages._repr_html_()
    assert "<script>" not in html
    assert "<td>&lt;script&gt;alert(&#x27;&amp;&#x27;)</td>" in html
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    assert len(rows) == 1 + 3
    cells = re.findall(r"<td>(.*?)</td>", rows[1])
    assert cells[:2] == ["aten::linear", "74.96%"]
    assert cells[-1] == "1"


def test_the_documentation_names_every_column() -> None:
    """docs/table.md lists the fields of a row in order, and every title that stays in a table."""
    text = (Path(__file__).parents[2] / "docs" / "table.md").read_text("utf-8")
    listed = text.partition("A row, in CSV")[2].partition("What was not recorded")[0]
    named = [name for name in re.findall(r"`(\w+)`", listed) if name not in ("path", "cpu", "cuda")]
    assert tuple(name for name in named if name != "xpu") == FIELDS
    for column in COLUMNS:
        title = column.title.format("CUDA")
        if title.endswith((" total", "Mem", "FLOPs")) and not title.startswith("Self"):
            assert title.removeprefix("Total ") in text


def test_help_names_keys_to_sort_by() -> None:
    (option,) = [each for each in cli.commands["table"].params if each.name == "sort_by"]
    keys = re.findall(r"\w+(?=,)", str(getattr(option, "help", "")).partition("...")[0])
    assert keys
    assert set(keys) <= set(SORT_KEYS)
