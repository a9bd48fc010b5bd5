"""The baseline: what was accepted does not count, what is new or costlier does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import tidy as package

from ..environment import ROOT
from .command import Result, tidy, tidy_process
from .traces import Event, clean, event, rank, write

_SOURCE = """def fill(t, n):
    for i in range(n):
        t[i] = i


def fill_again(t, n):
    for i in range(n):
        t[i] = i
"""
_FILE = "tidy-baseline.json"


def _loop(
    line: int, function: str = "fill", rounds: int = 12, file: str = "train.py"
) -> list[Event]:
    """What TDY404 finds: ops of 1 us each, at one line, in 100 us of the run."""
    stack = {"Call stack": f"{file}({line}): {function}"}
    names = ["aten::select", "aten::fill_"] * rounds
    start_us = 100 * line
    names.append("aten::add")  # where the loop ends
    return [event("cpu_op", name, start_us + 2 * i, 1, **stack) for i, name in enumerate(names)]


def _project(folder: Path, *loops: list[Event], source: str = _SOURCE) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(source, "utf-8")
    write(folder / "trace.json", [each for loop in loops for each in loop] or clean())
    return folder


def _baseline(project: Path, *options: str) -> Result:
    result = tidy("baseline", *options, "trace.json", cwd=project)
    assert (result.code, result.err) == (0, "")
    return result


def _entries(project: Path) -> list[dict[str, Any]]:
    document = json.loads((project / _FILE).read_text("utf-8"))
    assert document["schema_version"] == 1
    found: list[dict[str, Any]] = document["findings"]
    return found


def _states(project: Path, *options: str) -> dict[int, str]:
    """What the baseline knows of the findings, by line."""
    given = ("report", "trace.json", "--format", "json", "--baseline", _FILE, *options)
    (trace,) = tidy(*given, cwd=project).json()["traces"]
    return {each["location"]["line"]: each["baseline"]["state"] for each in trace["findings"]}


def test_what_is_in_the_baseline_does_not_count(tmp_path: Path) -> None:
    project = _project(tmp_path, _loop(3))
    assert tidy("report", "trace.json", cwd=project).code == 1
    assert _baseline(project).out == f"{_FILE}: 1 finding (1 new)\n"
    (entry,) = _entries(project)
    assert entry | {"fingerprint": "", "cost_share": 0} == {
        "file": "train.py",
        "function": "fill",
        "code": "TDY404",
        "name": "for-loop-indexing",
        "source": "t[i] = i",
        "severity": "warning",
        "cost_share": 0,
        "fingerprint": "",
    }
    result = tidy("report", "trace.json", "--baseline", _FILE, cwd=project)
    assert result.code == 0
    assert "TDY404" not in result.out
    assert result.lines[-1].startswith("Nothing found, 1 in the baseline")
    assert tidy("report", "trace.json", cwd=project).code == 1, "nobody named it"
    (project / "tidy.toml").write_text(f'baseline = "{_FILE}"')
    assert tidy("report", "trace.json", cwd=project).code == 0
    assert tidy("report", "trace.json", "--baseline", "", cwd=project).code == 1


def test_what_is_new_counts(tmp_path: Path) -> None:
    project = _project(tmp_path, _loop(3))
    _baseline(project)
    _project(project, _loop(3), _loop(8, "fill_again"))
    assert _states(project) == {3: "unchanged", 8: "new"}
    result = tidy("report", "trace.json", "--baseline", _FILE, cwd=project)
    assert result.code == 1
    assert "train.py:8 " in result.out
    assert "1 warning, 1 in the baseline" in result.out
    assert _baseline(project).out == f"{_FILE}: 2 findings (1 new)\n"
    assert tidy("report", "trace.json", "--baseline", _FILE, cwd=project).code == 0


def test_it_survives_moved_lines_renamed_variables_and_other_counts(tmp_path: Path) -> None:
    project = _project(tmp_path, _loop(3), _loop(8, "fill_again"))
    _baseline(project)
    other = _SOURCE.replace("i]", "index]").replace("= i", "=  index").replace("for i", "for index")
    other = other.replace("t[", "table[").replace("(t,", "(table,")
    _project(project, _loop(5, rounds=15), _loop(10, "fill_again"), source=f"import os\n\n{other}")
    assert _states(project) == {5: "unchanged", 10: "unchanged"}
    other = other.replace("=  index", "= 2 * index")
    _project(project, _loop(5), _loop(10, "fill_again"), source=f"import os\n\n{other}")
    assert _states(project) == {5: "new", 10: "new"}


def test_lines_that_are_alike_are_counted(tmp_path: Path) -> None:
    """One of two was accepted: the other one is new, whichever it is."""
    source = "def fill(t):\n    for i in t:\n        t[i] = i\n    for i in t:\n        t[i] = i\n"
    project = _project(tmp_path, _loop(3), source=source)
    _baseline(project)
    _project(project, _loop(3), _loop(5), source=source)
    assert sorted(_states(project).values()) == ["new", "unchanged"]
    _baseline(project)
    assert len({each["fingerprint"] for each in _entries(project)}) == 2
    _project(project, _loop(3), _loop(5), source=source)
    assert set(_states(project).values()) == {"unchanged"}


def _step(rounds: int) -> list[Event]:
    """Steps of 1 ms with a loop of so many rounds, 2 us each."""
    made: list[Event] = []
    for number in range(5):
        made.append(event("user_annotation", f"ProfilerStep#{number}", number * 1100, 1000))
        moved = _loop(3, rounds=rounds)
        made += [{**each, "ts": each["ts"] - 300 + number * 1100 + 1} for each in moved]
    return made


@pytest.mark.parametrize(
    ("options", "rounds", "state"),
    [
        ((), 100, "unchanged"),
        ((), 140, "unchanged"),  # 40 % of the step before, 56 % now
        ((), 170, "updated"),  # 68 %
        (("costlier-from = 30",), 140, "updated"),
        (("costlier-from = 300",), 170, "unchanged"),
        (("costlier-from = 0", "warn-from = 20"), 140, "unchanged"),
        (("costlier-from = 0", "warn-from = 5"), 140, "updated"),
        ((), 20, "unchanged"),
    ],
)
def test_what_is_clearly_costlier_counts(
    tmp_path: Path, options: tuple[str, ...], rounds: int, state: str
) -> None:
    project = _project(tmp_path, _step(100))
    _baseline(project)
    before = (project / _FILE).read_bytes()
    _project(project, _step(rounds))
    (project / "tidy.toml").write_text("\n".join(options))
    assert _states(project) == {3: state}
    result = tidy("report", "trace.json", "--baseline", _FILE, cwd=project)
    assert result.code == int(state == "updated")
    is_said = "costlier than in the baseline: it was 39.9% of the" in " ".join(result.out.split())
    assert is_said == (state == "updated")
    _baseline(project)
    assert ((project / _FILE).read_bytes() == before) == (state == "unchanged")


def test_what_is_gone_is_said_and_taken_out(tmp_path: Path) -> None:
    project = _project(tmp_path, _loop(3), _loop(8, "fill_again"))
    _baseline(project)
    frame = event("python_function", "train.py(1): fill", 0, 10)
    _project(project, [frame, event("cpu_op", "aten::add", 2, 4)], _loop(8, "fill_again"))
    for form, before in (
        ("text", "gone, but in the baseline: "),
        ("sarif", ""),
        ("markdown", "- "),
    ):
        result = tidy("report", "trace.json", "--format", form, "--baseline", _FILE, cwd=project)
        assert result.code == 0
        said = "TDY404 for-loop-indexing in fill, train.py: t"
        assert f"{before}{said}" in result.out, form
    result = _baseline(project)
    assert result.lines[0] == f"{_FILE}: 2 findings (1 gone)"
    assert "  gone: TDY404 for-loop-indexing in fill, train.py: t[i] = i" in result.lines
    result = _baseline(project, "--prune")
    assert result.lines[0] == f"{_FILE}: 1 finding (1 gone)"
    assert [each["function"] for each in _entries(project)] == ["fill_again"]


@pytest.mark.parametrize(
    ("trace", "options", "is_gone"),
    [
        ([event("cpu_op", "aten::add", 2, 4)], (), False),  # the function did not run
        ([event("python_function", "train.py(1): fill", 0, 9)], ("--ignore", "TDY404"), False),
        ([event("python_function", "train.py(6): fill_again", 0, 9)], (), False),
        ([event("python_function", "train.py(1): fill", 0, 9)], (), True),
    ],
)
def test_what_a_run_says_nothing_about_is_not_gone(
    tmp_path: Path, trace: list[Event], options: tuple[str, ...], is_gone: bool
) -> None:
    project = _project(tmp_path, _loop(3))
    _baseline(project)
    _project(project, [*trace, event("cpu_op", "aten::add", 20, 4)])
    given = ("report", "trace.json", "--format", "json", "--baseline", _FILE, *options)
    assert (tidy(*given, cwd=project).json()["gone"] != []) == is_gone
    _baseline(project, "--prune", *options)
    assert (_entries(project) == []) == is_gone


@pytest.mark.parametrize("source", [None, "def other():\n    pass\n"])
def test_a_function_that_is_no_more_is_gone(tmp_path: Path, source: str | None) -> None:
    project = _project(tmp_path, _loop(3))
    _baseline(project)
    if source is None:
        (project / "train.py").unlink()
    else:
        (project / "train.py").write_text(source)
    write(project / "trace.json", clean())
    _baseline(project, "--prune")
    assert _entries(project) == []


def test_the_same_findings_give_the_same_bytes(tmp_path: Path) -> None:
    loops = [_loop(3), _loop(8, "fill_again"), _loop(13, file="a.py"), _loop(14, file="z/b.py")]
    for order in (loops, loops[::-1]):
        folder = tmp_path / "project"
        (tmp_path / "project" / _FILE).unlink(missing_ok=True)
        project = _project(folder, *order)
        _baseline(project)
        entries = _entries(project)
        assert [each["file"] for each in entries] == ["a.py", "train.py", "train.py", "z/b.py"]
        kept = (project / _FILE).read_bytes()
        _baseline(project)
        assert (project / _FILE).read_bytes() == kept
    assert kept.endswith(b"}\n")
    assert kept.isascii()


def test_from_another_folder_and_another_machine(tmp_path: Path) -> None:
    """Paths are those from the folder of the baseline, wherever the command is called."""
    project = _project(tmp_path / "project", _loop(3))
    _baseline(project)
    for cwd, file in ((tmp_path, "project/train.py"), (project, str(project / "train.py"))):
        write(project / "trace.json", _loop(3, file=file))
        given = ("report", project / "trace.json", "--baseline", project / _FILE)
        assert tidy(*given, cwd=cwd).code == 0, file
    # Sources that are elsewhere are known by their names, on Windows, too.
    for first, second in (("C:\\a\\lib.py", "D:\\b\\lib.py"), ("/a/lib.py", "/b/c/lib.py")):
        (project / _FILE).unlink()
        write(project / "trace.json", _loop(3, file=first))
        _baseline(project)
        write(project / "trace.json", _loop(3, file=second))
        assert tidy("report", "trace.json", "--baseline", _FILE, cwd=project).code == 0


def test_ranks_share_an_entry(tmp_path: Path) -> None:
    project = _project(tmp_path, _loop(3))
    for number in range(2):
        write(project / f"rank{number}.json", _loop(3), **rank(number))
    result = tidy("baseline", "rank0.json", "rank1.json", cwd=project)
    assert (result.code, result.out) == (0, f"{_FILE}: 1 finding (1 new)\n")
    given = ("report", "rank0.json", "rank1.json", "--baseline", _FILE)
    result = tidy(*given, cwd=project)
    assert result.code == 0
    assert "Nothing found, 1 in the baseline" in result.out


def test_every_form_knows(tmp_path: Path) -> None:
    project = _project(tmp_path, _loop(3))
    _baseline(project)
    _project(project, _loop(3), _loop(8, "fill_again"))
    given = ("report", "trace.json", "--baseline", _FILE, "--format")
    document = tidy(*given, "json", cwd=project).json()
    schema = json.loads((ROOT / "docs" / "report.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)
    assert (document["summary"]["warning"], document["summary"]["in_baseline"]) == (1, 1)
    results = tidy(*given, "sarif", cwd=project).json()["runs"][0]["results"]
    assert [each["baselineState"] for each in results] == ["new", "unchanged"]
    assert not any("suppressions" in each for each in results)
    for form in ("text", "github", "markdown"):
        out = tidy(*given, form, cwd=project).out
        assert "1 in the baseline" in out
        assert out.count("for-loop-indexing") == 1


def test_a_comment_comes_before_the_baseline(tmp_path: Path) -> None:
    source = _SOURCE.replace("t[i] = i", "t[i] = i  # tidy: ignore[TDY404]", 1)
    project = _project(tmp_path, _loop(3), source=source)
    assert _baseline(project).out == f"{_FILE}: 0 findings\n"
    assert _entries(project) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "this is no baseline: "),
        (b"[]", "this is no baseline: "),
        (b"\xff\xfe", "this is no baseline: "),
        (b"[" * 100_000, "this is no baseline: "),
        (b'{"schema_version": 2}', "this baseline has version 2, and this tidy reads 1"),
        (b'{"schema_version": 1, "findings": [{"code": "TDY404"}]}', "missing required field"),
        (b'{"schema_version": 1, "findings": [], "more": 1}', "unknown field"),
    ],
)
def test_a_file_that_is_no_baseline(tmp_path: Path, content: bytes, said: str) -> None:
    project = _project(tmp_path, _loop(3))
    (project / _FILE).write_bytes(content)
    for given in (("report", "trace.json", "--baseline", _FILE), ("baseline", "trace.json")):
        result = tidy(*given, cwd=project)
        assert (result.code, result.out) == (2, "")
        assert len(result.err.splitlines()) == 1
        assert said in result.err
        assert (project / _FILE).read_bytes() == content, "what is there is not lost"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    project = _project(tmp_path, _loop(3))
    result = tidy("report", "trace.json", "--baseline", "none.json", cwd=project)
    assert result.code == 2
    assert "none.json: cannot be read: no such file or directory; `tidy baseline`" in result.err
    for options in (("--prune",), ("-o", "no/folder.json")):
        result = tidy("baseline", *options, "trace.json", cwd=project)
        assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    result = tidy("baseline", "absent.json", cwd=project)
    assert (result.code, result.out) == (2, "")
    assert not (project / _FILE).exists()


def test_marks_and_line_ends_of_other_editors(tmp_path: Path) -> None:
    project = _project(tmp_path, _loop(3))
    _baseline(project)
    content = (project / _FILE).read_bytes()
    (project / _FILE).write_bytes(b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"))
    assert _states(project) == {3: "unchanged"}


@pytest.mark.parametrize(
    "text", ["::error::x", "a\nb\x1b[31m", "<script>", "../../etc/x.py", "C:\\x"]
)
def test_names_of_a_stranger_stay_text(tmp_path: Path, text: str) -> None:
    project = _project(tmp_path, _loop(3, function=text, file=f"{text}.py"))
    assert _baseline(project).out == f"{_FILE}: 1 finding (1 new)\n"
    frame = event("python_function", f"{text}.py(1): {text}", 0, 9)
    write(project / "trace.json", [frame, event("cpu_op", "aten::add", 2, 4)])
    for form in ("text", "github", "markdown"):
        given = ("report", "trace.json", "--baseline", _FILE, "--format", form)
        result = tidy(*given, cwd=project)
        assert result.code == 0
        assert "\x1b" not in result.out
        assert "<script>" not in result.out or form == "text"
        assert not any(line.startswith("::error::") for line in result.lines)
    lines = _baseline(project).lines
    assert all(line.startswith(("tidy", "  gone: ")) for line in lines)


@pytest.mark.slow
def test_a_script(tmp_path: Path) -> None:
    script = [
        "import sys",
        "import tidy.runtime as torch",
        "t = torch.zeros(40)",
        "model = torch.nn.Linear(4, 4)",
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)",
        "for _ in range(7):",
        "    model(torch.ones(2, 4)).sum().backward()",
        "    for i in range(40):",
        "        t[i] = i",
        "    optimizer.step()",
        "sys.exit(len(sys.argv) - 1)",
    ]
    (tmp_path / "train.py").write_text("\n".join(script))
    # How much of three short steps the loop takes is the machine's affair.
    (tmp_path / "tidy.toml").write_text("costlier-from = 1e9")
    options = ("--select", "TDY404", "--steps", "3")
    result = tidy_process("baseline", "--run", *options, "train.py", "x", cwd=tmp_path)
    assert result.code == 1
    assert f"{_FILE}: not written: not all could be checked" in result.err
    result = tidy_process("baseline", "--run", *options, "train.py", cwd=tmp_path)
    assert (result.code, result.out) == (0, f"{_FILE}: 1 finding (1 new)\n")
    result = tidy("run", *options, "--baseline", _FILE, "train.py", cwd=tmp_path)
    assert result.code == 0
    assert "Nothing found, 1 in the baseline" in result.out


def test_from_python(tmp_path: Path) -> None:
    project = _project(tmp_path, _loop(3))
    _baseline(project)
    trace = package.load(project / "trace.json")
    assert package.check(trace).exit_code() == 1
    report = package.check(trace, baseline=project / _FILE)
    (finding,) = report.findings
    assert finding.known is not None
    assert finding.known.state == "unchanged"
    assert report.exit_code() == 0
