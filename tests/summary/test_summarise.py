"""What a summary keeps of a checked trace."""

from __future__ import annotations

from dataclasses import replace

from tidy.report.json_report import report_to_json
from tidy.summary import summarise

from ..report.making import finding, report, trace


def test_of_many_matches_the_first_and_the_longest_are_kept() -> None:
    """Of 100 calls the first 20, and of the others the 20 longest, by start; all are counted.
    Call n lasts n us, but that the two halves have changed places.
    """
    lengths = [*range(50, 100), *range(50)]
    run = trace("".join(f"aten::mul {length}us\n" for length in lengths))
    events = [each for each in run.events() if each.name == "aten::mul"]
    found = finding(run=run, at="")
    made = report(replace(found, events=events), run=run)
    (kept,) = summarise(made).findings
    assert kept.count == 100
    shown = [each.duration_ns // 1000 for each in kept.events]
    assert shown == [*range(50, 70), *range(80, 100)]
    (written,) = report_to_json(made)["findings"]
    assert (written["count"], len(written["events"])) == (100, 40)


def test_the_calls_are_those_of_the_findings_own_line() -> None:
    """Of three launches two are at line 9 of nms, called at line 4; the first one is elsewhere."""
    inside = "  train.py(4): nms\n    train.py(9): overlap\n      aten::mul 9us\n"
    outline = f"train.py(2): main\n  train.py(7): other\n    aten::mul 9us\n{inside * 2}"
    run = trace(outline)
    events = [each for each in run.events() if each.name == "aten::mul"]
    found = replace(finding(run=run, at=""), events=events, location=events[1].location)
    (kept,) = summarise(report(found, run=run)).findings
    assert [str(each) for each in kept.called_from] == ["train.py:4", "train.py:2"]
    elsewhere = replace(found, location=events[0].root.location)
    (kept,) = summarise(report(elsewhere, run=run)).findings
    assert [str(each) for each in kept.called_from] == ["train.py:7"]
