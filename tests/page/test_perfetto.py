"""What is written for Perfetto: Chrome's format, all rows, each finding and each idle moment."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tidy as package
from tidy.trace import EventKind

from ..cli.command import tidy
from ..environment import ROOT
from .making import TRACES, report_of

_Written = Callable[[str], Any]
_ONE = [name for name in TRACES if name != "ranks"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> _Written:
    """Give the events that are written for a trace, once for all who only look at them."""

    @cache
    def events(name: str) -> Any:
        file = tmp_path_factory.mktemp(name) / "out.json"
        done = tidy("report", *TRACES[name], "--perfetto", file, "--fail-on", "never", cwd=ROOT)
        assert (done.code, done.err) == (0, "")
        return json.loads(file.read_text("utf-8"))["traceEvents"]

    return events


@pytest.mark.parametrize("name", _ONE)
def test_all_rows_are_there(written: _Written, name: str) -> None:
    trace = package.load(ROOT / TRACES[name][0])
    events = [each for each in written(name) if each["ph"] == "X"]
    own = [each for each in events if not each["pid"].startswith("tidy: ")]
    drawn = [
        event
        for event in trace.events()
        if event.kind not in (EventKind.Allocation, EventKind.OutOfMemory)
    ]
    first_ns = trace.start_ns_first
    said = Counter((event.start_ns - first_ns, event.duration_ns) for event in drawn)
    shown = Counter((round(1000 * each["ts"]), round(1000 * each["dur"])) for each in own)
    assert shown == said


@pytest.mark.parametrize("name", _ONE)
def test_findings_and_idle_time_have_tracks(written: _Written, name: str) -> None:
    events, (trace,) = written(name), report_of(name)["traces"]
    codes = {each["name"][:6] for each in events if each.get("cat") == "finding"}
    assert codes == {each["code"] for each in trace["findings"] if each["events"]}
    idle_ns, said_ns = Counter[str](), Counter[str]()
    for each in events:
        if each.get("cat") == "idle":
            idle_ns[each["tid"]] += round(1000 * each["dur"])
    for account in trace["account"]:
        whose = "host" if account["device"] == "host" else f"GPU {account['device']}"
        for part in account["parts"]:
            if part["part"] in ("idle", "host"):
                said_ns[whose] += part["time_ns"]
    assert idle_ns == said_ns


def test_launches_lead_to_their_work(written: _Written) -> None:
    events = written("h100")
    ends = Counter(each["ph"] for each in events if each.get("cat") == "launch")
    assert ends["s"] == ends["f"] > 0


def test_it_is_in_gzip_if_its_name_says_so(tmp_path: Path) -> None:
    file = tmp_path / "out.json.gz"
    tidy("report", *TRACES["cpu"], "--perfetto", file, cwd=ROOT)
    assert json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]


def test_several_traces_are_refused(tmp_path: Path) -> None:
    out, page = tmp_path / "out.json", tmp_path / "page.html"
    done = tidy("report", *TRACES["ranks"], "--perfetto", out, "-o", page, cwd=ROOT)
    assert done.code == 2
    assert page.exists(), "the report is not lost"
    assert done.err.endswith("takes one trace, and 2 were read\n")
    assert not (tmp_path / "out.json").exists()


def test_the_trace_itself_is_not_overwritten(tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    trace.write_bytes(gzip.decompress((ROOT / TRACES["cpu"][0]).read_bytes()))
    done = tidy("report", trace, "--perfetto", trace)
    assert done.code == 2
    assert "which would be lost" in done.err


@pytest.mark.parametrize("more", [("--perfetto", "-"), ("--perfetto", "a.json", "-o", "a.json")])
def test_a_file_is_for_one_thing(tmp_path: Path, more: tuple[str, ...]) -> None:
    done = tidy("report", ROOT / TRACES["cpu"][0], *more, cwd=tmp_path)
    assert done.code == 2
    assert done.err.endswith("name a file that nothing else is for\n")
    assert list(tmp_path.iterdir()) == []
