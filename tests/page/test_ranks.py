"""Jobs of several ranks on the page: a map of all steps, and one rank at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidy.page.document import document

from ..cli.command import tidy
from .conftest import Show
from .making import content_of, unpacked


def _written_ranks(folder: Path, ranks: int, steps: int) -> Path:
    """The page of a job, each rank of which runs an operator of its own name in each step.

    Steps of rank 0 take 50 us; each rank takes 1 us longer, and rank 2 takes 95 us for step 1.
    """
    for rank in range(ranks):
        where = {"pid": rank, "tid": 1, "ph": "X"}
        lengths = [95 if (rank, n) == (2, 1) else min(50 + rank, 90) for n in range(steps)]
        events = [
            {"cat": cat, "name": name, "ts": 100 * n + late, "dur": dur - 2 * late, **where}
            for n, dur in enumerate(lengths)
            for cat, name, late in (
                ("user_annotation", f"ProfilerStep#{n}", 0),
                ("cpu_op", f"aten::rank{rank}", 1),
            )
        ]
        info = {"rank": rank, "world_size": ranks}
        trace = {"schemaVersion": 1, "distributedInfo": info, "traceEvents": events}
        (folder / f"rank{rank}.json").write_text(json.dumps(trace), "utf-8")
    tidy("report", folder, "-o", folder / "page.html")
    return folder / "page.html"


@pytest.mark.slow
def test_a_rank_without_a_timeline_shows_none(show: Show, tmp_path: Path) -> None:
    page = _written_ranks(tmp_path, 10, 4)
    alone, _ = (at for at, rank in enumerate(_job(page)["ranks"]) if "timelines" not in rank)
    shown = show(page)
    assert shown.tab.locator("canvas.slices").is_visible()
    choice = shown.tab.get_by_label("rank", exact=True)
    choice.select_option(str(alone))
    assert not shown.tab.locator("canvas.slices").is_visible()
    said = f"Of rank {alone} this page has the lengths of its steps alone"
    assert shown.tab.get_by_text(said).is_visible()
    # No option shows a step of it, and no part of an account leads anywhere.
    titles = [bar.get_attribute("title") for bar in shown.tab.locator(".step").all()]
    assert [title for title in titles if "--page-steps" in title] == []
    assert shown.tab.locator(".account button").count() == 0
    choice.select_option("0")
    shown.tab.locator("canvas.slices").wait_for()
    assert shown.problems == []


@pytest.mark.slow
def test_ranks_of_summaries_have_accounts_and_no_timeline(show: Show, tmp_path: Path) -> None:
    """Of ten ranks eight are there whole, in a page of their summaries as in one of their traces;
    in one of both that is said of the rank whose trace is gone.
    """
    page = _written_ranks(tmp_path, 10, 4)
    whole = [at for at, rank in enumerate(_job(page)["ranks"]) if "timelines" in rank]
    tidy("report", tmp_path, "--summaries", tmp_path / "kept")
    (tmp_path / "rank0.json").unlink()
    tidy("report", tmp_path / "kept", "-o", tmp_path / "kept.html")
    tidy("report", tmp_path, "-o", tmp_path / "both.html")
    assert [
        at for at, r in enumerate(_job(tmp_path / "kept.html")["ranks"]) if "accounts" in r
    ] == (whole)
    needs = "they need the trace, and this is of its summary"
    shown = show(tmp_path / "kept.html", until=".account")
    assert shown.tab.locator(".account").is_visible()
    assert shown.tab.get_by_text(needs).is_visible()
    assert shown.tab.get_by_text("8 of 10 ranks are here whole").is_visible()
    assert not shown.tab.locator("canvas.slices").is_visible()
    choice = shown.tab.get_by_label("rank", exact=True)
    choice.select_option(str(next(at for at in range(10) if at not in whole)))
    assert shown.tab.get_by_text("Ranks that are here whole: rank 0, ").is_visible()
    assert shown.problems == []
    shown = show(tmp_path / "both.html", until=".account")
    choice = shown.tab.get_by_label("rank", exact=True)
    for at, rank in enumerate(_job(tmp_path / "both.html")["ranks"]):
        choice.select_option(str(at))
        has_trace = rank["label"] != "rank 0"
        assert shown.tab.get_by_text(needs).is_visible() != has_trace
        assert shown.tab.locator("canvas.slices").is_visible() == bool(rank.get("timelines"))
        assert bool(shown.tab.locator(".account button").count()) == bool(rank.get("timelines"))
    assert shown.problems == []


@pytest.mark.slow
def test_many_steps_of_many_ranks_are_shown(show: Show, tmp_path: Path) -> None:
    """More than a call takes arguments."""
    page = content_of(_written_ranks(tmp_path, 2, 3).read_text("utf-8"))
    (job,) = page["jobs"]
    steps = {"number": list(range(2_000)), "duration_ns": [90_000] * 2_000, "left_out": {}}
    job["ranks"] = [{**job["ranks"][0], "steps": steps} for _ in range(80)]
    (tmp_path / "many.html").write_text(document(page), "utf-8")
    shown = show(tmp_path / "many.html")
    assert shown.tab.locator("canvas.ranks").is_visible()
    assert shown.problems == []


def _job(page: Path) -> Any:
    (job,) = content_of(page.read_text("utf-8"))["jobs"]
    return job


def test_of_many_ranks_some_are_whole(tmp_path: Path) -> None:
    """The first, those with the longest, median and shortest steps, then others up to eight."""
    job = _job(_written_ranks(tmp_path, 40, 3))
    whole = [at for at, rank in enumerate(job["ranks"]) if "timelines" in rank]
    assert len(whole) == 8
    assert {0, 2, 39} <= set(whole)
    for rank in job["ranks"]:
        assert rank["steps"]["duration_ns"][0] == 1_000 * (50 + int(rank["label"].split()[1]))


def test_a_thousand_ranks_stay_small(tmp_path: Path) -> None:
    page = _written_ranks(tmp_path, 12, 3)
    content = content_of(page.read_text("utf-8"))
    small = len(document(content))
    ranks = content["jobs"][0]["ranks"]
    (alone, *_) = (rank for rank in ranks if "timelines" not in rank)
    ranks += [alone] * 988
    assert len(document(content)) < small + 988 * 200


@pytest.mark.slow
def test_four_ranks_are_compared(show: Show, tmp_path: Path) -> None:
    page = _written_ranks(tmp_path, 4, 5)
    shown = show(page)
    ranks, timeline = (shown.tab.locator(f"canvas.{each}") for each in ("ranks", "slices"))
    box = ranks.bounding_box()
    assert box["y"] < timeline.bounding_box()["y"]
    for rank, step, length in ((0, 0, "50.0"), (2, 1, "95.0"), (3, 4, "53.0")):
        ranks.hover(position={"x": box["width"] * (step + 0.5) / 5, "y": 12 * rank + 6})
        assert shown.tab.get_by_text(f"rank {rank}, step {step}: {length} us").is_visible()
    # The longest is the darkest.
    darkest = ranks.evaluate(
        """canvas => {
          const { width, height } = canvas;
          const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
          const shade = (rank, step) =>
            data[4 * ((12 * rank + 6) * width + Math.floor(width * (step + 0.5) / 5)) + 3];
          const all = [0, 1, 2, 3].flatMap((rank) =>
            [0, 1, 2, 3, 4].map((step) => [shade(rank, step), rank, step]));
          return all.sort((one, other) => other[0] - one[0])[0].slice(1);
        }"""
    )
    assert darkest == [2, 1]
    # A click chooses the rank, whose timeline alone is shown.
    search = shown.tab.get_by_label("search names")
    for rank in (2, 0, 3):
        ranks.click(position={"x": box["width"] / 2, "y": 12 * rank + 6})
        assert shown.tab.get_by_label("rank", exact=True).input_value() == str(rank)
        for other in range(4):
            search.fill(f"aten::rank{other}")
            count = "1 slice," if other == rank else "0 slices,"
            shown.tab.get_by_text(count).wait_for()
    (median,) = (e for e in _job(page)["ranks"][2]["timelines"] if e["why"] == "median")
    assert unpacked(median["slices"])["duration_ns"].max() == 52_000
    assert shown.problems == []


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [64, 1_000])
def test_many_ranks_have_a_map(show: Show, tmp_path: Path, ranks: int) -> None:
    """All fit into a map that is no higher than a window."""
    content = content_of(_written_ranks(tmp_path, 12, 3).read_text("utf-8"))
    (job,) = content["jobs"]
    (alone, *_) = (rank for rank in job["ranks"] if "timelines" not in rank)
    job["ranks"] += [{**alone, "label": f"rank {at}"} for at in range(12, ranks)]
    file = tmp_path / "many.html"
    file.write_text(document(content), "utf-8")
    shown = show(file)
    assert shown.tab.locator(".all-ranks").bounding_box()["height"] <= 604
    assert shown.tab.get_by_text(f"8 of {ranks:,} ranks have a timeline").is_visible()
    last = shown.tab.locator("canvas.ranks").evaluate("each => each.clientHeight") - 1
    shown.tab.locator(".all-ranks").evaluate("each => each.scrollTo(0, each.scrollHeight)")
    shown.tab.locator("canvas.ranks").click(position={"x": 5, "y": last})
    assert shown.tab.get_by_label("rank", exact=True).input_value() == str(ranks - 1)
    assert shown.problems == []
