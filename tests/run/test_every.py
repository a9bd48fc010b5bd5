"""`tidy run --after` and `--every`: when recordings begin, and what changed between them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tidy

from .running import tidy_run, write_script

pytest.importorskip("tidy.profiler")

_TEXT = """
import tidy.runtime as torch
net = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for number in range({count}):
    optimizer.zero_grad()
    if number > {slow}:
        t = torch.zeros(400)
        for i in range(400):
            t[i] = i  # line 10
    net(torch.ones(4, 8)).sum().backward()
    optimizer.step()
print("done", number)
"""
_TRAIN = _TEXT.replace("{slow}", "140")
_COUNTING = """
import sys
from tidy import Pattern
class Counting(Pattern):
    code = "XYZ001"
    fix = "nothing"
    def find(self, trace):
        sys.stderr.write("the rule ran\\n")
        return []
"""


def _numbers(path: Path) -> list[int]:
    return [step.number for step in tidy.load(path).steps]


def test_after(tmp_path: Path) -> None:
    script = write_script(tmp_path, _TRAIN.replace("{count}", "40"))
    given = ("--after", "30", "--steps", "3", "--warmup", "2", "--trace", "kept.json")
    ended = tidy_run(*given, script, cwd=tmp_path)
    assert ended.out.startswith("done 39\n")
    assert _numbers(tmp_path / "kept.json") == [32, 33, 34]
    linears = list(tidy.load(tmp_path / "kept.json").named("aten::linear"))
    assert len(linears) == 5


def test_every(tmp_path: Path) -> None:
    script = write_script(tmp_path, _TRAIN.replace("{count}", "230"))
    given = ("--after", "5", "--every", "100", "--steps", "4", "--trace", "kept.json.gz")
    ended = tidy_run(*given, "--fail-on", "never", script, cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert sorted(each.name for each in tmp_path.glob("kept*")) == [
        "kept-1.json.gz",
        "kept-2.json.gz",
        "kept-3.json.gz",
    ]
    starts = [_numbers(tmp_path / f"kept-{n}.json.gz") for n in (1, 2, 3)]
    assert starts == [[6, 7, 8, 9], [106, 107, 108, 109], [206, 207, 208, 209]]
    report, _, changed = ended.out.partition("Changes between 3 recordings, in order:\n")
    assert report.count("CPU run, ") == 1
    assert "TDY404 for-loop-indexing" in report
    lines = [line.strip() for line in changed.splitlines()]
    heads = [line.partition(":")[0] for line in lines if line.startswith("steps ")]
    assert heads == ["steps 6-9", "steps 106-109", "steps 206-209"]
    last = lines[lines.index(next(line for line in lines if line.startswith("steps 206"))) :]
    assert "came: TDY404 for-loop-indexing at train.py:10" in last
    assert any(line.startswith("a step is ") and line.endswith("longer") for line in last)
    assert any(line.startswith("grew: ") for line in last)
    assert "came: TDY404 for-loop-indexing at train.py:10" not in lines[: -len(last)]


def test_each_recording_is_checked_once(tmp_path: Path) -> None:
    """A rule that counts on stderr how often it runs."""
    (tmp_path / "counting.py").write_text(_COUNTING)
    script = write_script(tmp_path, _TRAIN.replace("{count}", "130"))
    given = ("--every", "100", "--steps", "4", "--select", "XYZ001", "--patterns", "counting.py")
    ended = tidy_run(*given, script, cwd=tmp_path)
    assert "Changes between 2 recordings" in ended.out
    assert ended.err.count("the rule ran\n") == 2


@pytest.mark.slow
def test_every_as_json(tmp_path: Path) -> None:
    """Each recording is there, with what its trace, checked alone, says."""
    script = write_script(tmp_path, _TEXT.replace("{slow}", "80").replace("{count}", "170"))
    given = ("--every", "100", "--steps", "4", "--trace", "kept.json", "--format", "json")
    ended = tidy_run(*given, "--fail-on", "never", script, cwd=tmp_path)
    report = json.loads(ended.out)
    first, second = report["recordings"]
    assert first["steps"] == {"first": 1, "last": 4}
    assert second["steps"] == {"first": 101, "last": 104}
    assert first["changes"] is None
    alone = [tidy.check(tidy.load(tmp_path / f"kept-{number}.json")) for number in (1, 2)]
    for one, said in zip(alone, (first, second), strict=True):
        assert said["step_ns"] == one.summary.median_ns
        for severity in tidy.Severity:
            assert said[severity.label] == one.counts[severity]
    costly = [{(f.code, str(f.location)) for f in one.findings if f.in_window} for one in alone]
    for which, wanted in (("came", costly[1] - costly[0]), ("went", costly[0] - costly[1])):
        assert {(f["code"], f["location"]) for f in second["changes"][which]} == wanted
    assert [trace["steps"]["median_ns"] for trace in report["traces"]] == [second["step_ns"]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--every", "20"), "--every 20: a recording of --steps 10 takes 73 steps; the next one"),
        (("--every", "200", "--stop-after"), "--every does not go together with --stop-after"),
    ],
)
def test_what_makes_no_sense(given: tuple[str, ...], said: str, tmp_path: Path) -> None:
    script = write_script(tmp_path, "print('ran')")
    ended = tidy_run(*given, script, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1
