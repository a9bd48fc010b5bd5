"""The page of two runs: the figures of `tidy diff --format json`, and a step of each."""

from __future__ import annotations

from pathlib import Path

from ..cli.command import tidy
from ..environment import ROOT
from .making import content_of, diff_of, diff_page, unpacked

_CNN = ROOT / "examples" / "traces" / "train_cnn.json.gz"


def test_the_account_is_that_of_json() -> None:
    shown = content_of(diff_page())["diff"]["account"]
    keys = ("part", "cause", "base_ns", "new_ns")
    assert [[part[key] for key in keys] for part in shown] == [
        [part[key] for key in keys] for part in diff_of()["account"]
    ]


def test_operators_and_findings_are_those_of_json() -> None:
    shown, said = content_of(diff_page())["diff"], diff_of()
    certain = [each for each in said["ops"] if each["is_certain"]]
    assert [each["what"] for each in shown["ops"]] == [each["what"] for each in certain]
    assert shown["uncertain"] == len(said["ops"]) - len(certain)
    gone = [each["code"] for each in said["findings"]["gone"]]
    assert [each["text"][:6] for each in shown["findings"] if each["what"] == "gone"] == gone


def test_the_median_step_of_each_side_is_shown() -> None:
    panes = content_of(diff_page())["diff"]["panes"]
    assert [pane["name"] for pane in panes] == ["base", "new"]
    for pane in panes:
        (shown,) = pane["timelines"]
        assert shown["why"] == "median"
        assert len(unpacked(shown["slices"])["start_ns"])


def test_a_report_has_no_timeline(tmp_path: Path) -> None:
    report, page = tmp_path / "base.json", tmp_path / "diff.html"
    report.write_text(tidy("report", _CNN, "--format", "json").out, "utf-8")
    done = tidy("diff", report, _CNN, "-o", page)
    assert done.err == ""
    (pane,) = content_of(page.read_text("utf-8"))["diff"]["panes"]
    assert pane["name"] == "new"


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    page = tmp_path / "diff.html"
    modelled = ROOT / "tests" / "data" / "traces" / "device_training.pt.trace.json.gz"
    done = tidy("diff", _CNN, modelled, "-o", page)
    assert done.code == 2
    shown = content_of(page.read_text("utf-8"))["diff"]
    assert shown["differences"]
    assert shown["panes"] == []
