"""The account on the page in a real browser: its figures are those of JSON, its parts lead on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidy.trace import time_text

from .conftest import Show, mouse_and_keyboard
from .making import TRACES, content_of, page_of, report_of, unpacked, written

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", [*TRACES, "four"])
def test_the_account_is_that_of_json(show: Show, tmp_path: Path, name: str) -> None:
    shown = show(written(name, tmp_path))
    trace, content = report_of(name)["traces"][0], content_of(page_of(name))
    rows = shown.tab.locator(".account tbody tr")
    parts = [part for each in trace["account"] for part in each["parts"] if part["time_ns"]]
    found = rows.evaluate_all(
        "all => all.map((each) => [Number(each.dataset.timeNs), Number(each.dataset.share),"
        " [...each.querySelectorAll('td.number')].map((cell) => cell.innerText)])"
    )
    assert [time_ns for time_ns, _, _ in found] == [part["time_ns"] for part in parts]
    assert [share for _, share, _ in found] == [part["share"] for part in parts]
    said = [
        (part["share_text"], part["time_text"])
        for each in content["jobs"][0]["ranks"][0]["accounts"]
        for part in each["parts"]
        if part["time_ns"]
    ]
    assert [tuple(texts) for _, _, texts in found] == said


@pytest.mark.parametrize(("name", "by"), mouse_and_keyboard("cpu", "h100", "ranks"))
def test_parts_of_the_account_are_shown(show: Show, tmp_path: Path, name: str, by: str) -> None:
    shown = show(written(name, tmp_path))
    rank = content_of(page_of(name))["jobs"][0]["ranks"][0]
    (timeline,) = (each for each in rank["timelines"] if each["why"] == "median")
    slices, works = unpacked(timeline["slices"]), timeline["works"]
    account = rank["accounts"][0]
    parts = [part for part in account["parts"] if part["time_ns"] > 0]
    for row, part in zip(shown.tab.locator(".account tbody tr").all(), parts, strict=False):
        device = None if account["device"] == "host" else account["device"]
        if part["part"] in ("idle", "host"):
            (line,) = (each for each in timeline["causes"] if each["device"] == device)
            stretches = unpacked(line["slices"])
            words = [each["word"] for each in line["causes"]]
            of_part = [words[code] == part["cause"] for code in stretches["cause"]]
            lengths = stretches["duration_ns"][of_part]
        else:
            own = [
                number
                for number, work in enumerate(works)
                if (work["word"], work["tensor_cores"]) == (part["cause"], part["tensor_cores"])
            ]
            lengths = slices["duration_ns"][[each in own for each in slices["work"]]]
        button = row.get_by_role("button")
        if by == "mouse":
            button.click()
        else:
            button.focus()
            shown.tab.keyboard.press("Enter")
        if not len(lengths):
            row.get_by_text("no slice of its own in the step shown").wait_for()
            continue
        row.get_by_text(f"1 of {len(lengths):,} in the step shown").wait_for()
        said = shown.tab.locator(".details").inner_text()
        assert time_text(max(lengths.tolist())) in said
    said = shown.tab.get_by_text("in the step shown")
    assert said.count() == 1
    shown.tab.get_by_label("step", exact=True).select_option(index=len(rank["timelines"]) - 1)
    if rank["timelines"][-1]["why"] != "median":
        said.wait_for(state="detached")
    assert shown.problems == []
