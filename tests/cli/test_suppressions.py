"""Comments in the sources of a project that accept findings."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import tidy as package

from ..environment import ROOT
from .command import Result, tidy
from .traces import event, loop, write

# The trace has twelve rounds at line 3, in fill().
_LINES = ["def fill(t):", "    for i in range(12):", "        t[i] = i"]
_TRACE = "trace.json"
_STACK = "train.py(3): fill;train.py(6): <module>"


def _project(folder: Path, *changes: tuple[int, str], name: str = "train.py") -> Path:
    """A folder with the trace and a source whose lines are changed, counted from 1."""
    lines = [*_LINES, "", "", "fill([0] * 12)", ""]
    for number, line in changes:
        lines[number - 1] = line
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    events = loop()[1:]
    for each in events:
        each["args"] = {"Call stack": _STACK.replace("train.py", name)}
    write(folder / _TRACE, events)
    return folder


def _found(project: Path, *options: str | Path) -> list[tuple[str, bool]]:
    result = tidy("report", _TRACE, "--format", "json", *options, cwd=project)
    findings = result.json()["traces"][0]["findings"]
    return [(each["code"], each["suppressed"] is not None) for each in findings]


def _report(project: Path, *options: str | Path) -> Result:
    return tidy("report", _TRACE, *options, cwd=project)


def test_without_a_comment(tmp_path: Path) -> None:
    assert _found(_project(tmp_path)) == [("TDY404", False)]
    assert _report(tmp_path).code == 1


@pytest.mark.parametrize(
    "change",
    [
        (3, "        t[i] = i  # tidy: ignore[TDY404]"),
        (3, "        t[i] = i  # noqa  # tidy: ignore[TDY6, TDY4] -- twelve rounds"),
        (3, "        t[i] = i  # tidy: ignore[for-loop-indexing]"),
        (7, "# tidy: ignore-file[TDY404]"),
        (1, "# tidy: ignore[TDY404]\ndef fill(t):"),
    ],
)
def test_a_comment_accepts_a_finding(tmp_path: Path, change: tuple[int, str]) -> None:
    project = _project(tmp_path, change)
    if "\ndef" in change[1]:  # one line further down, as the trace of that source has it
        text = (project / _TRACE).read_text().replace("train.py(3)", "train.py(4)")
        (project / _TRACE).write_text(text)
    report = _report(project)
    assert report.code == 0
    assert "TDY404" not in report.out
    assert report.lines[-1].startswith("Nothing found, 1 suppressed")
    assert ("TDY404", True) in _found(project)


@pytest.mark.parametrize(
    "change",
    [
        (3, "        t[i] = i  # tidy: ignore[TDY101]"),
        (3, "        t[i] = i  # tidy: ignore"),
        (2, "    for i in range(12):  # tidy: ignore[TDY404]"),  # the head alone
        (3, "        t[i] = '# tidy: ignore[TDY404]'"),
        (7, "fill(0)  # tidy: ignore[TDY404]"),
    ],
)
def test_a_comment_that_is_about_something_else(tmp_path: Path, change: tuple[int, str]) -> None:
    project = _project(tmp_path, change)
    assert ("TDY404", False) in _found(project)
    assert _report(project).code == 1


def test_every_form_knows(tmp_path: Path) -> None:
    project = _project(tmp_path, (3, "        t[i] = i  # tidy: ignore[TDY404] -- it's {short}"))
    document = _report(project, "--format", "json").json()
    schema = json.loads((ROOT / "docs" / "report.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)
    assert (document["summary"]["warning"], document["summary"]["suppressed"]) == (0, 1)
    (finding,) = document["traces"][0]["findings"]
    assert finding["suppressed"] == {
        "by": "comment", "where": "train.py:3", "reason": "it's {short}"
    }  # fmt: skip
    (result,) = _report(project, "--format", "sarif").json()["runs"][0]["results"]
    assert result["suppressions"] == [
        {"kind": "inSource", "status": "accepted", "justification": "it's {{short}}"}
    ]
    for form in ("text", "github", "markdown"):
        out = _report(project, "--format", form).out
        assert "TDY404" not in out
        assert "1 suppressed" in out


def test_all_results_of_sarif_have_the_list_or_none(tmp_path: Path) -> None:
    """SARIF 2.1.0, 3.27.23: a mixture is not allowed."""
    project = _project(tmp_path, (3, "        t[i] = i  # tidy: ignore[TDY404, TDY603]"))
    results = _report(project, "--format", "sarif").json()["runs"][0]["results"]
    assert [len(each["suppressions"]) for each in results] == [0, 1]
    results = _report(_project(tmp_path), "--format", "sarif").json()["runs"][0]["results"]
    assert ["suppressions" in each for each in results] == [False]


def _unused(project: Path, *options: str) -> list[str]:
    result = tidy("report", _TRACE, "--format", "json", *options, cwd=project)
    findings: list[dict[str, Any]] = result.json()["traces"][0]["findings"]
    return [
        f"{each['location']['line']}: {each['message']}"
        for each in findings
        if each["code"] == "TDY010"
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((3, "t[i] = i  # tidy: ignore[TDY404]"), []),
        ((3, "t[i] = i  # tidy: ignore[TDY404,TDY603]"), ["3: nothing was found here of TDY603"]),
        ((3, "t[i] = i  # tidy: ignore"), ["3: the comment names no rule, and accepts nothing:"]),
        ((3, "t[i] = i  # tidy: ignore[TDY999]"), ["3: nothing was found here of TDY999"]),
        # It needs a GPU, and so says nothing; this is a rule of somebody else's.
        ((3, "t[i] = i  # tidy: ignore[TDY301, OWN001]"), []),
        # Of the rules that this may mean, some were not checked.
        ((3, "t[i] = i  # tidy: ignore[TDY4, TDY3]"), []),
        ((6, "fill(0)  # tidy: ignore[TDY603]"), []),  # no operator is of that line
        ((5, "# tidy: ignore-file[TDY603]"), ["5: nothing was found here of TDY603"]),
    ],
)
def test_comments_that_accept_nothing(
    tmp_path: Path, change: tuple[int, str], said: list[str]
) -> None:
    number, line = change
    project = _project(tmp_path, (number, "        " * (number == 3) + line))
    unused = _unused(project)
    assert [each[: len(said[0])] for each in unused] == said if said else unused == []
    assert _unused(project, "--ignore", "TDY010") == []
    if "TDY404" not in line:
        assert _unused(project, "--select", "TDY404,TDY010") == [
            u for u in unused if "TDY6" not in u
        ]


def test_sources_of_others_are_not_read(tmp_path: Path) -> None:
    """Neither where a trace points to, nor where a link leads."""
    secret = tmp_path / "elsewhere"
    secret.mkdir()
    comment = (3, "        t[i] = i  # tidy: ignore[TDY404]")
    _project(secret, comment)
    for name in (str(secret / "train.py"), "../elsewhere/train.py", "link.py"):
        project = tmp_path / "project"
        project.mkdir(exist_ok=True)
        if name == "link.py":
            (project / "link.py").symlink_to(secret / "train.py")
        events = loop()[1:]
        for each in events:
            each["args"] = {"Call stack": f"{name}(3): fill"}
        write(project / _TRACE, events)
        assert _found(project) == [("TDY404", False)]
        before = (secret / "train.py").read_bytes()
        result = _report(project, "--add-ignores")
        assert result.code == 1
        assert "no comment can stand in the project's sources for TDY404" in result.err
        assert (secret / "train.py").read_bytes() == before
    assert _found(secret) == [("TDY404", True)]


def test_functions_alone(tmp_path: Path) -> None:
    """Kineto has the function's first line: the comment stands there, or above."""
    for change, code in (
        ((1, "def fill(t):  # tidy: ignore[TDY404]"), 0),
        ((3, "        t[i] = i  # tidy: ignore[TDY404]"), 1),
    ):
        project = _project(tmp_path, change)
        write(project / _TRACE, loop("train.py(1): fill"))
        assert _report(project).code == code


@pytest.mark.parametrize(("end", "mark"), [("\n", b""), ("\r\n", b"\xef\xbb\xbf"), ("\r", b"")])
@pytest.mark.parametrize(
    "line",
    [
        "        t[i] = i",
        "        t[i] = i   ",
        "        t[i] = i  # a remark of \u00fc",
        "        t[i] = i  # tidy: ignore[TDY6] -- why",
        "        t[i] = i; u = 1",
    ],
)
def test_add_ignores(tmp_path: Path, line: str, mark: bytes, end: str) -> None:
    project = _project(tmp_path, (3, line))
    source = project / "train.py"
    source.write_bytes(mark + source.read_bytes().replace(b"\n", end.encode()))
    source.chmod(0o640)
    before = source.read_bytes()
    result = _report(project, "--add-ignores")
    assert (result.code, result.err) == (0, "tidy: train.py: 1 finding ignored by a comment\n")
    after = source.read_bytes()
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(before))
    assert source.stat().st_mode & 0o777 == 0o640
    lines = after.decode().split(end), before.decode().split(end)
    assert [at for at, (new, old) in enumerate(zip(*lines, strict=True), 1) if new != old] == [3]
    new = lines[0][2]
    if "TDY6" in line:
        assert new == "        t[i] = i  # tidy: ignore[TDY6, TDY404] -- why"
    else:
        assert new == f"{line.rstrip()}  # tidy: ignore[TDY404]"
    assert {path.name for path in project.iterdir()} == {"trace.json", "train.py"}
    again = _report(project, "--add-ignores")
    assert (again.code, again.err, source.read_bytes()) == (0, "", after)


@pytest.mark.parametrize(
    ("lines", "line", "written"),
    [
        (["x = f(  # one", "    t[i],", ")"], 2, 2),
        (["x = '''", "a'''", "b = 1"], 1, 2),
        (["x = f'''", "{a}'''", "b = 1"], 1, 2),
        (["x = \\", "    t[i]", "b = 1"], 1, 2),
        (["for i in f('''", "'''): t[i]", "b = 1"], 1, None),
        (["", "# nothing", ""], 1, None),
        (["x = 1"], 9, None),
    ],
)
def test_where_a_comment_can_stand(
    tmp_path: Path, lines: list[str], line: int, written: int | None
) -> None:
    project = _project(tmp_path)
    source = project / "train.py"
    source.write_text("\n".join(lines))
    events = loop()[1:]
    for each in events:
        each["args"] = {"Call stack": f"train.py({line}): fill"}
    write(project / _TRACE, events)
    result = _report(project, "--add-ignores")
    after = source.read_text().split("\n")
    changed = [at for at, (new, old) in enumerate(zip(after, lines, strict=True), 1) if new != old]
    assert changed == ([] if written is None else [written])
    assert result.code == (1 if written is None else 0)
    assert len(result.err.splitlines()) == 1


def test_a_script_that_is_run_from_elsewhere(tmp_path: Path) -> None:
    script = [
        "import tidy.runtime as torch",
        "t = torch.zeros(40)",
        "model = torch.nn.Linear(4, 4)",
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)",
        "for _ in range(7):",
        "    model(torch.ones(2, 4)).sum().backward()",
        "    # tidy: ignore[TDY404] -- forty",
        "    for i in range(40):",
        "        t[i] = i",
        "    optimizer.step()",
    ]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "train.py").write_text("\n".join(script))
    options = ("--steps", "3", "--select", "TDY404,TDY010", "--format", "json")
    document = tidy("run", *options, "../a/train.py", cwd=tmp_path / "b").json()
    assert document["summary"]["suppressed"] >= 1
    assert document["summary"]["warning"] == 0
    assert {each["suppressed"]["reason"] for each in document["traces"][0]["findings"]} == {"forty"}


def test_from_python(tmp_path: Path) -> None:
    project = _project(tmp_path, (3, "        t[i] = i  # tidy: ignore[TDY404]"))
    trace = package.load(project / _TRACE)
    (finding,) = package.check(trace).findings
    assert finding.acceptance is None, "no source is read that nobody named"
    report = package.check(trace, sources=project)
    (finding,) = report.findings
    assert finding.acceptance is not None
    assert finding.acceptance.by == "comment"
    assert (report.exit_code(), sum(report.counts.values())) == (0, 0)


def test_what_is_accepted_saves_nothing(tmp_path: Path) -> None:
    """All fixes together are those of the findings that count."""
    steps = [event("user_annotation", f"ProfilerStep#{n}", n * 1000, 900) for n in range(3)]
    bodies = [{**each, "ts": each["ts"] + n * 1000} for n in range(3) for each in loop()[1:]]
    for accepted in (False, True):
        more = "  # tidy: ignore[TDY404]" if accepted else ""
        project = _project(tmp_path, (3, f"        t[i] = i{more}"))
        for each in bodies:
            each["args"] = {"Call stack": _STACK}
        write(project / _TRACE, [*steps, *bodies])
        assert ("With all of this fixed:" in _report(project).out) == (not accepted)
