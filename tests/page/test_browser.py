"""The page in a real browser: it shows what the report says, and reacts to mouse and keyboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidy.page.document import to_html
from tidy.trace import Location, time_text

from ..cli.command import tidy
from ..environment import SOAK
from ..report.hostile import TEXTS, results
from .conftest import Show, Shown, mouse_and_keyboard
from .making import TRACES, content_of, diff_of, diff_page, page_of, report_of, unpacked, written

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", [*TRACES, "four"])
def test_a_page_opens_by_itself(show: Show, tmp_path: Path, name: str) -> None:
    """It asks for nothing; findings and steps are those of JSON."""
    file = written(name, tmp_path)
    shown = show(file)
    shown.tab.wait_for_timeout(200)
    assert shown.problems == []
    assert shown.requests == [file.as_uri()]
    if name not in ("ranks", "four"):  # each is one trace
        _findings_are_those_of_json(shown, name)
    if name in ("cpu", "v100"):
        _steps_are_those_of_json(shown, name)


def _findings_are_those_of_json(shown: Shown, name: str) -> None:
    (trace,) = report_of(name)["traces"]
    said = {(each["code"], each["cost_ns"]) for each in trace["findings"]}
    found = shown.tab.locator(".finding").all()
    seen = {(e.get_attribute("data-code"), int(e.get_attribute("data-cost-ns"))) for e in found}
    assert seen
    assert seen <= said
    savings = {
        tuple(str(each["saving"][key]) for key in ("low_ns", "high_ns", "step_ns"))
        for each in trace["findings"]
        if each["saving"]
    }
    for bar in shown.tab.locator(".range-bar[data-low-ns]").all():
        ends = ("data-low-ns", "data-high-ns", "data-step-ns")
        assert tuple(bar.get_attribute(each) for each in ends) in savings


def _steps_are_those_of_json(shown: Shown, name: str) -> None:
    (trace,) = report_of(name)["traces"]
    bars = shown.tab.locator(".step:not(.left-out)").all()
    lengths = [int(bar.get_attribute("data-duration-ns")) for bar in bars]
    assert lengths == trace["steps"]["durations_ns"]


def _matches(job: Any) -> list[tuple[int, int, set[tuple[int, int]]]]:
    """For each finding its number, how many matches it has, and their start and duration."""
    found = []
    timelines = [[unpacked(each["slices"]) for each in rank["timelines"]] for rank in job["ranks"]]
    for number, finding in enumerate(each for each in job["findings"] if not each["is_small"]):
        slices = set[tuple[int, int]]()
        for match in finding["matches"]:
            rows, at = unpacked(match["slices"])["slice"], 0
            for timeline, count in zip(timelines[match["rank"]], match["counts"], strict=True):
                slices |= {
                    (int(timeline["start_ns"][row]), int(timeline["duration_ns"][row]))
                    for row in rows[at : at + count]
                }
                at += count
        found.append((number, sum(sum(match["counts"]) for match in finding["matches"]), slices))
    return found


def _chosen(shown: Shown) -> tuple[int, int]:
    details = shown.tab.locator(".details dl")
    details.wait_for()
    ends = ("data-start-ns", "data-duration-ns")
    start, duration = (int(details.get_attribute(each)) for each in ends)
    return start, duration


_MOST_MATCHES = 12 if SOAK else 5  # of a finding


@pytest.mark.parametrize(
    ("name", "by"),
    mouse_and_keyboard("cpu", *(["h100", "modelled"] if SOAK else []), "ranks", "four"),
)
def test_every_match_is_reached(show: Show, tmp_path: Path, name: str, by: str) -> None:
    (job,) = content_of(page_of(name))["jobs"]
    shown = show(written(name, tmp_path))
    shown.tab.evaluate("document.querySelectorAll('.finding').forEach((each) => each.open = true)")
    for number, count, slices in _matches(job):
        finding = shown.tab.locator(".findings > .finding").nth(number)
        if not count:
            assert finding.locator("button.show").count() == 0
            continue
        button, seen = finding.get_by_label("next match"), set()
        for at in range(min(count, _MOST_MATCHES)):
            if by == "mouse":
                button.click()
            else:
                button.focus()
                shown.tab.keyboard.press("Enter")
            finding.get_by_text(f"{at + 1} of {count:,}", exact=True).wait_for()
            shown.tab.wait_for_timeout(60)
            seen.add(_chosen(shown))
        assert seen <= slices
        assert len(seen) == min(count, _MOST_MATCHES) or len(slices) < count
    assert shown.problems == []


def test_the_keyboard_goes_through_slices(show: Show, tmp_path: Path) -> None:
    shown = show(written("cpu", tmp_path))
    shown.tab.locator("canvas.slices").focus()
    for key in ("ArrowRight", "ArrowDown", "f", "w", "d", "a", "s"):
        shown.tab.keyboard.press(key)
    inner = _chosen(shown)
    shown.tab.keyboard.press("ArrowUp")
    start, duration = _chosen(shown)
    assert start <= inner[0]
    assert start + duration >= inner[0] + inner[1]
    shown.tab.keyboard.press("Escape")
    assert shown.tab.locator(".details dl").count() == 0


def test_a_slice_is_chosen_by_mouse(show: Show, tmp_path: Path) -> None:
    shown = show(written("h100", tmp_path))
    box = shown.tab.locator("canvas.slices").bounding_box()
    for y in range(30, int(box["height"]), 8):
        for part in (0.2, 0.5, 0.8):
            x = box["width"] * part
            shown.tab.locator("canvas.slices").click(position={"x": x, "y": y})
            if shown.tab.locator(".details dl").count():
                return
    pytest.fail("no slice was met")


def _line(shown: Shown, text: str) -> tuple[float, float]:
    """A point of the canvas of which the page says this when the pointer is there."""
    canvas = shown.tab.locator("canvas.slices")
    box = canvas.bounding_box()
    for y in range(30, int(box["height"]), 6):
        for part in (0.05, 0.3, 0.6, 0.9):
            canvas.hover(position={"x": box["width"] * part, "y": y})
            if text in (canvas.get_attribute("title") or ""):
                return box["width"] * part, y
    pytest.fail(f"{text} is nowhere on the timeline")


def test_memory_is_in_the_timeline(show: Show, tmp_path: Path) -> None:
    (job,) = content_of(page_of("h100"))["jobs"]
    (timeline,) = (e for e in job["ranks"][0]["timelines"] if e["why"] == "median")
    memory = timeline["memory"][0]
    shown = show(written("h100", tmp_path))
    x, y = _line(shown, f"{memory['label']} memory: ")
    shown.tab.locator("canvas.slices").click(position={"x": x, "y": y})
    said = shown.tab.locator(".details dl")
    assert int(said.get_attribute("data-peak-nbytes")) == memory["peak_nbytes"]
    assert said.locator("dd").count() == 1 + len(memory["holders"])
    assert memory["holders"][0]["what"] in said.inner_text()


def test_idle_time_answers_to_a_click(show: Show, tmp_path: Path) -> None:
    shown = show(written("h100", tmp_path))
    x, y = _line(shown, "GPU 0 idle: ")
    shown.tab.locator("canvas.slices").click(position={"x": x, "y": y})
    assert shown.tab.locator(".details h4").inner_text().startswith("GPU 0 idle: ")
    shown.tab.locator("canvas.slices").focus()
    shown.tab.keyboard.press("Escape")
    assert shown.tab.locator(".details h4").count() == 0
    assert shown.problems == []


def test_names_are_searched(show: Show, tmp_path: Path) -> None:
    shown = show(written("cpu", tmp_path))
    (job,) = content_of(page_of("cpu"))["jobs"]
    (timeline,) = (e for e in job["ranks"][0]["timelines"] if e["why"] == "median")
    names = [timeline["names"][each] for each in unpacked(timeline["slices"])["name"]]
    count = sum("ADDMM" in name.upper() for name in names)
    assert count > 1
    box = shown.tab.get_by_label("search names")
    box.fill("Addmm")
    shown.tab.get_by_text(f"{count} slices").wait_for()
    box.press("Enter")
    shown.tab.get_by_text(f"1 of {count}").wait_for()
    assert "addmm" in shown.tab.locator(".details h4").inner_text()


def test_a_rank_is_chosen(show: Show, tmp_path: Path) -> None:
    shown = show(written("ranks", tmp_path))
    traces = report_of("ranks")["traces"]
    for at in (1, 0):
        shown.tab.get_by_label("rank", exact=True).select_option(str(at))
        (first, *_) = shown.tab.locator(".account tbody tr").all()
        part = traces[at]["account"][0]["parts"][0]
        assert int(first.get_attribute("data-time-ns")) == part["time_ns"]


# What means something in HTML, in JavaScript or to a terminal; for `make soak` in Markdown, too.
_HOSTILE = (
    *(text for text in TEXTS if SOAK or {*"<&\\{"} & {*text} or not text.isprintable()),
    "</script><script>alert(1)</script>",
    "a" * 10_000,
)


def test_hostile_texts_are_text(show: Show, tmp_path: Path) -> None:
    """One after the other in one tab, since each tab of its own takes a second."""
    file = tmp_path / "page.html"
    file.write_text(to_html(results("plain", Location("plain", 3, "plain"))), "utf-8")
    shown = show(file)
    tags = "[...document.querySelectorAll('*')].map((e) => e.tagName)"
    of_plain = shown.tab.evaluate(tags)
    for text in _HOSTILE:
        file.write_text(to_html(results(text, Location(text, 3, text))), "utf-8")
        shown.open(file)
        assert shown.problems == [], text
        assert shown.tab.evaluate(tags) == of_plain, text
        said = "".join(char if char.isprintable() else "?" for char in text)
        assert said in shown.tab.evaluate("document.querySelector('.finding p').textContent")
        assert shown.tab.evaluate("document.documentElement.scrollWidth") <= 1440, text


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("name", ["cpu", "h100", "ranks"])
def test_a_page_fits_its_window(show: Show, tmp_path: Path, name: str, width: int) -> None:
    shown = show(written(name, tmp_path), width)
    shown.tab.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    assert shown.tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("name", "scheme"),
    [("cpu", "light"), ("ranks", "dark"), *([("cpu", "dark"), ("ranks", "light")] if SOAK else [])],
)
def test_nothing_serious_stands_in_a_readers_way(
    show: Show, tmp_path: Path, name: str, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    shown = show(written(name, tmp_path), scheme=scheme)
    shown.tab.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    found = axe.run(shown.tab).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], [n["html"][:90] for n in each["nodes"][:3]]) for each in serious] == []


@pytest.mark.parametrize("name", ["cpu", "h100"])
def test_the_flame_graph_is_that_of_the_command(show: Show, tmp_path: Path, name: str) -> None:
    shown = show(written(name, tmp_path))
    side = ("--device",) if name == "h100" else ()
    lines = tidy("flame", *side, *TRACES[name]).lines
    total = sum(int(line.rpartition(" ")[2]) for line in lines)
    nodes = shown.tab.locator(".node")
    roots = "all => all.filter((each) => each.style.top == '0px').map((each) => each.dataset.ns)"
    assert sum(map(int, nodes.evaluate_all(roots))) == total
    first = nodes.nth(1)
    title = first.get_attribute("title")
    first.click()
    wide = shown.tab.locator(f'.node[title="{title}"]').evaluate("each => each.style.width")
    assert wide == "100%"
    shown.tab.get_by_role("button", name="Whole graph").click()
    shown.tab.get_by_label("search frames").fill("no such frame")
    assert shown.tab.locator(".flame .tools .quiet").inner_text() == "0 us, 0.0%"


def test_host_time_is_chosen(show: Show, tmp_path: Path) -> None:
    shown = show(written("h100", tmp_path))
    shown.tab.get_by_label("time of").select_option("host")
    total = sum(int(line.rpartition(" ")[2]) for line in tidy("flame", *TRACES["h100"]).lines)
    assert f"{time_text(total)} in all steps" in shown.tab.locator(".said").inner_text()


def test_two_runs_are_beside_each_other(show: Show, tmp_path: Path) -> None:
    file = tmp_path / "diff.html"
    file.write_text(diff_page(), "utf-8")
    shown = show(file)
    shown.tab.wait_for_timeout(200)
    assert shown.tab.locator("canvas.slices").count() == 2
    rows = shown.tab.locator("tbody").first.locator("tr").all()
    assert len(rows) == len(diff_of()["account"])
    assert (shown.problems, shown.requests) == ([], [file.as_uri()])
    # What is zoomed in one is shown in the other, which draws it anew.
    second = shown.tab.locator("canvas.slices").nth(1)
    before = second.evaluate("each => each.toDataURL()")
    shown.tab.locator("canvas.slices").first.focus()
    shown.tab.keyboard.press("w")
    shown.tab.wait_for_timeout(300)
    assert second.evaluate("each => each.toDataURL()") != before


@pytest.mark.parametrize("width", [390, 1440])
def test_two_runs_fit_their_window(show: Show, tmp_path: Path, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    file = tmp_path / "diff.html"
    file.write_text(diff_page(), "utf-8")
    shown = show(file, width)
    assert shown.tab.evaluate("document.documentElement.scrollWidth") <= width
    found = axe.run(shown.tab).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], [n["html"][:90] for n in each["nodes"][:3]]) for each in serious] == []


def test_a_search_goes_along_to_another_step(show: Show, tmp_path: Path) -> None:
    shown = show(written("cpu", tmp_path))
    box = shown.tab.get_by_label("search names")
    box.fill("addmm")
    box.press("Enter")
    shown.tab.get_by_label("step", exact=True).select_option("0")
    box.press("Shift+Enter")
    shown.tab.wait_for_timeout(100)
    assert "addmm" in shown.tab.locator(".details h4").inner_text().lower()
    assert shown.problems == []


def test_deep_stacks_are_drawn(show: Show, tmp_path: Path) -> None:
    where = {"pid": 1, "tid": 1, "ph": "X", "cat": "cpu_op"}
    deep = 3_000
    events = [{"name": f"op{n}", "ts": n, "dur": 2 * (deep - n) + 1, **where} for n in range(deep)]
    trace = {"schemaVersion": 1, "traceEvents": events}
    (tmp_path / "deep.json").write_text(json.dumps(trace), "utf-8")
    tidy("report", tmp_path / "deep.json", "-o", tmp_path / "deep.html")
    shown = show(tmp_path / "deep.html")
    shown.tab.locator(".node").first.wait_for()
    assert shown.problems == []


def test_a_frame_that_was_zoomed_keeps_the_focus(show: Show, tmp_path: Path) -> None:
    shown = show(written("cpu", tmp_path))
    shown.tab.locator(".node").nth(3).focus()
    before = shown.tab.evaluate("document.activeElement.title")
    shown.tab.keyboard.press("Enter")
    assert shown.tab.evaluate("document.activeElement.title") == before


def test_on_paper_the_timeline_keeps_its_shape(show: Show, tmp_path: Path) -> None:
    shown = show(written("h100", tmp_path))
    heading = shown.tab.locator(".timeline h3")
    assert "median" not in heading.inner_text()
    shown.tab.wait_for_timeout(200)
    shown.tab.emulate_media(media="print")
    shown.tab.set_viewport_size({"width": 700, "height": 900})
    assert "(median)" in heading.inner_text()
    box = shown.tab.locator("canvas.slices").bounding_box()
    drawn = shown.tab.locator("canvas.slices").evaluate("each => each.width / each.height")
    assert box["width"] / box["height"] == pytest.approx(drawn, rel=0.02)
    assert not shown.tab.get_by_label("search names").is_visible()


def test_findings_are_printed_with_their_fixes(show: Show, tmp_path: Path) -> None:
    shown = show(written("cpu", tmp_path))
    count = "document.querySelectorAll('.findings > .finding:not([open])').length"
    before = shown.tab.evaluate(count)
    assert before
    shown.tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert shown.tab.evaluate(count) == 0
    shown.tab.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert shown.tab.evaluate(count) == before
