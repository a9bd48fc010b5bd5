"""Where a fix is made that is not made where the time goes, in every form of a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command import Result, tidy
from .traces import event, write

_FETCH = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
_TRACE = "trace.json"
_MADE = {"loader train.py:3": ["data.py", 5, "loaders"]}
_STACK = "train.py(3): train;train.py(7): <module>"
_SAID = "batches are loaded in the training process; the loader is made at data.py:5"


def _project(folder: Path, made: object = _MADE, *more: dict[str, object]) -> Path:
    """A run of three fetches of 60 us in 100, beside the source that makes the loader."""
    lines = ["from torch.utils.data import DataLoader", "", "", "def loaders(rows):"]
    lines += ["    return DataLoader(", "        rows,", "        batch_size=4,", "    )", ""]
    (folder / "data.py").write_text("\n".join(lines), "utf-8")
    lines = ["from data import loaders", "def train(rows):", "    for row in loaders(rows):"]
    (folder / "train.py").write_text("\n".join([*lines, "        row + 1", ""]), "utf-8")
    events = []
    for step in range(3):
        start_us = 100 * step
        fetch = event("user_annotation", _FETCH, start_us, 60)
        fetch["args"]["Call stack"] = _STACK
        name = f"ProfilerStep#{step}"
        events += [event("user_annotation", name, start_us, 99), fetch]
        events.append(event("cpu_op", "aten::add", start_us + 70, 9))
    write(folder / _TRACE, [*events, *more], tidy_made_places=made)
    return folder


def _report(project: Path, form: str) -> Result:
    return tidy("report", _TRACE, "--select", "TDY101", "--format", form, cwd=project)


def test_each_form_says_both_places(tmp_path: Path) -> None:
    project = _project(tmp_path)
    for form in ("text", "markdown"):
        said = " ".join(_report(project, form).out.split())
        assert _SAID in said
        assert "train.py:3" in said
    (finding,) = _report(project, "json").json()["traces"][0]["findings"]
    assert (finding["location"]["file"], finding["location"]["line"]) == ("train.py", 3)
    assert finding["fix_place"] == {
        "what": "the loader is made",
        "location": {"file": "data.py", "line": 5, "function": "loaders", "is_call_line": True},
    }


@pytest.mark.parametrize("sides", ["traces", "reports"])
def test_a_comparison_says_both_places(sides: str, tmp_path: Path) -> None:
    """Of a run whose batches are made beforehand, and one that loads them."""
    project = _project(tmp_path)
    steps = [event("user_annotation", f"ProfilerStep#{each}", 100 * each, 99) for each in range(3)]
    ops = [event("cpu_op", "aten::add", 100 * each + 70, 9) for each in range(3)]
    write(project / "base.json", [*steps, *ops])
    names = ["base.json", _TRACE]
    if sides == "reports":
        for name in names:
            report = tidy("report", name, "--format", "json", cwd=project).out
            (project / f"of-{name}").write_text(report, "utf-8")
        names = [f"of-{name}" for name in names]
    text = " ".join(tidy("diff", *names, "--allow", "recorded", cwd=project).out.split())
    assert f"new TDY101 synchronous-data-loader info train.py:3 {_SAID}" in text
    made = tidy("diff", *names, "--allow", "recorded", "--format", "json", cwd=project).json()
    (finding,) = (each for each in made["findings"]["new"] if each["code"] == "TDY101")
    assert finding["message"] == "batches are loaded in the training process"
    assert finding["fix_place"] == {
        "what": "the loader is made",
        "location": {"file": "data.py", "line": 5, "function": "loaders", "is_call_line": True},
    }


def test_what_shows_one_line_shows_that_of_the_fix(tmp_path: Path) -> None:
    project = _project(tmp_path)
    (result,) = _report(project, "sarif").json()["runs"][0]["results"]
    place, used = result["locations"][0], result["relatedLocations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "data.py"
    assert place["physicalLocation"]["region"]["startLine"] == 5
    assert place["physicalLocation"]["region"]["endLine"] == 8
    assert place["logicalLocations"][0]["name"] == "loaders"
    assert used["physicalLocation"]["artifactLocation"]["uri"] == "train.py"
    assert used["physicalLocation"]["region"]["startLine"] == 3
    assert used["message"]["text"] == "the time goes here"
    annotation = _report(project, "github").lines[0]
    assert ",file=data.py,line=5,endLine=8::train.py:3: batches are loaded" in annotation


def test_a_result_is_the_same_one_where_the_place_is_not_known(tmp_path: Path) -> None:
    """Of two recordings one may know where a loader is made."""
    prints = []
    for made in (_MADE, {}):
        (result,) = _report(_project(tmp_path, made), "sarif").json()["runs"][0]["results"]
        prints.append(result["partialFingerprints"])
    assert prints[0] == prints[1]


@pytest.mark.parametrize(("file", "line"), [("data.py", 4), ("train.py", 2)])
def test_a_comment_accepts_it_at_either_place(file: str, line: int, tmp_path: Path) -> None:
    project = _project(tmp_path)
    lines = (project / file).read_text("utf-8").splitlines()
    lines[line] += "  # tidy: ignore[TDY101] -- small"
    (project / file).write_text("\n".join([*lines, ""]), "utf-8")
    (finding,) = _report(project, "json").json()["traces"][0]["findings"]
    assert finding["suppressed"] == {
        "by": "comment",
        "where": f"{file}:{line + 1}",
        "reason": "small",
    }


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(7, id="a-number"),
        pytest.param({"loader train.py:3": ["data.py", "41", "loaders"]}, id="a-line-in-quotes"),
        pytest.param({"loader train.py:3": ["data.py", True, "loaders"]}, id="no-line"),
        pytest.param({"loader train.py:3": ["data.py", 41]}, id="no-function"),
        pytest.param({"loader train.py:3": None}, id="several-places"),
        pytest.param({"loader train.py:8": ["data.py", 41, "loaders"]}, id="of-another-line"),
        pytest.param({"optimizer train.py:3": ["data.py", 41, "loaders"]}, id="of-something-else"),
        pytest.param({"loader train.py:3": ["train.py", 3, "train"]}, id="the-same-line"),
    ],
)
def test_a_place_that_is_not_known_is_not_said(made: object, tmp_path: Path) -> None:
    (finding,) = _report(_project(tmp_path, made), "json").json()["traces"][0]["findings"]
    assert finding["fix_place"] is None


def test_the_function_that_takes_most_of_loading_comes_first(tmp_path: Path) -> None:
    """`pad` has 50 of 60 us in each fetch, most of them at line 12, in many operators."""
    slow = []
    for step in range(3):
        start_us = 100 * step
        slow.append(event("python_function", "data.py(10): pad", start_us + 5, 50))
        ops = ((6, 4, 11), *((10 + number, 1, 12) for number in range(40)))
        for at_us, lasts_us, line in ops:
            op = event("cpu_op", "aten::fill_", start_us + at_us, lasts_us)
            op["args"]["Call stack"] = f"data.py({line}): pad;{_STACK}"
            slow.append(op)
    (finding,) = _report(_project(tmp_path, _MADE, *slow), "json").json()["traces"][0]["findings"]
    assert finding["message"].endswith(", 83% of it in pad()")
    assert finding["fix_place"]["what"] == "pad() calls 41 operators each time"
    assert finding["fix_place"]["location"]["line"] == 12
    assert finding["fix"].startswith("first make pad() cheaper")


@pytest.mark.parametrize(("lasts_us", "is_named"), [(16, True), (14, False)])
def test_a_function_that_is_soon_done_is_not_named(
    lasts_us: int, is_named: bool, tmp_path: Path
) -> None:
    """Three calls take most of each fetch: shorter ones may do no more than take a row."""
    calls = [
        event("python_function", "data.py(10): item", 100 * step + 1 + at, lasts_us)
        for step in range(3)
        for at in (0, 17, 34)
    ]
    (finding,) = _report(_project(tmp_path, _MADE, *calls), "json").json()["traces"][0]["findings"]
    assert ("of it in item()" in finding["message"]) == is_named
