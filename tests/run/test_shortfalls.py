"""What is missing from a recording is said with its cure, and is kept in the trace."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tidy

from ..environment import SOAK
from .running import record, tidy_report, tidy_run, write_script

pytest.importorskip("tidy.profiler")

_TRAIN = """
import time
import {framework} as torch
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for round in range({rounds}):
    net(torch.ones(2, 4)).sum().backward()
    time.sleep({pause})
    {step}
"""
_MANY_OPS = "[net(torch.ones(2, 4)) for _ in range(200)]"
_FRAMEWORKS = [pytest.param("torch", marks=pytest.mark.oracle), "tidy.runtime"]
_NO_STEP = "no optimizer stepped while it was recorded, so no steps are marked; in a loop"


def _script(
    folder: Path, framework: str, rounds: int = 4, pause: float = 0, step: str = ""
) -> Path:
    step = step or "optimizer.step()"
    text = _TRAIN.format(framework=framework, rounds=rounds, pause=pause, step=step)
    return write_script(folder, text)


_STEPS = [
    ({"step": "pass"}, (), _NO_STEP),
    (
        {"step": "pass", "rounds": 30, "pause": 0.1},
        ("--seconds", "0.5"),
        "no optimizer stepped in the 0.5 s that were recorded, so no steps are marked;"
        " --seconds records longer",
    ),
    (
        {"rounds": 14, "pause": 0.3},
        ("--seconds", "1"),
        " of 10 steps recorded when the 1 s were over; --seconds records longer",
    ),
    (
        {"rounds": 14, "pause": 0.1, "step": f"{_MANY_OPS}; optimizer.step()"},
        ("--max-size", "8M"),
        " of 10 steps recorded, since they are large; a larger --max-size records more",
    ),
    (
        {"rounds": 1},
        (),
        "the script ended after 1 step, which --warmup 1 does not count; --warmup 0 does",
    ),
    ({"rounds": 1}, ("--warmup", "0"), ""),
    ({"rounds": 6}, (), ""),
]
_ON_PYTORCH = _STEPS if SOAK else _STEPS[4:5]  # they are made of what either framework counts


@pytest.mark.parametrize(
    ("framework", "script", "given", "said"),
    [
        *(pytest.param("tidy.runtime", *case, marks=pytest.mark.slow) for case in _STEPS),
        *(pytest.param("torch", *case, marks=pytest.mark.oracle) for case in _ON_PYTORCH),
    ],
)
def test_steps(
    framework: str, script: dict[str, object], given: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    path = _script(tmp_path, framework, **script)  # type: ignore[arg-type]
    ended = record(*given, path, cwd=tmp_path)
    assert ended.code in (0, 1)
    again = tidy_report(ended.path, cwd=tmp_path)
    for out in (ended.out, again.out):
        notes = [each for each in _notes(out) if "slower" not in each]
        assert len(notes) == (said != "")
        assert all(said in each for each in notes)
        assert notes == [each for each in ended.header["tidy_notes"] if "slower" not in each]


def _notes(report: str) -> list[str]:
    """Each note of a text report on one line."""
    head = report.partition("Where the time goes")[0]
    return [" ".join(each.split()) for each in head.split("note: ")[1:]]


def test_first_steps_that_are_slow(tmp_path: Path) -> None:
    """No other step takes as long as the sleep, also on a busy machine."""
    step = "optimizer.step(); time.sleep(0.6 if round < 4 else 0)"
    found = record(_script(tmp_path, "tidy.runtime", 80, step=step), cwd=tmp_path)
    assert len(found.trace.steps) == 6
    said = r"steps 1-4 are left out: as recorded they took ([0-9.]+) (ms|s) each, and later ones "
    took = re.match(said, found.trace.info.warnings[0])
    assert took is not None
    assert float(took[1]) * {"ms": 1, "s": 1000}[took[2]] >= 600


def test_steps_that_grow(tmp_path: Path) -> None:
    """Those recorded lightly hold two to four times as many operators."""
    step = "[net(torch.ones(2, 4)) for _ in range(5 * round)]; optimizer.step()"
    script = _script(tmp_path, "tidy.runtime", 40, step=step)
    found = record(script, cwd=tmp_path)
    said = "the steps that were recorded lightly hold other operators, or more or fewer of them"
    assert [said in each for each in _notes(found.out)] == [True]
    assert "tidy_times" not in found.header
    assert found.header["tidy_recording_slowdown"] is None


@pytest.mark.parametrize(
    ("rounds", "said"),
    [
        (4, "there were 4 optimizer steps, and --after 30 leaves out the first ones"),
        (0, "there were 0 optimizer steps, and --after 30 leaves out the first ones"),
    ],
)
def test_after_the_end(rounds: int, said: str, tmp_path: Path) -> None:
    ended = tidy_run("--after", "30", _script(tmp_path, "tidy.runtime", rounds), cwd=tmp_path)
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert line.startswith("tidy: ")
    assert line.endswith(f"no op ran while it was recorded: {said}")


_CHILDREN = (
    r"; processes that the script started took 1\.\d\d s of processor time and are not recorded"
)


@pytest.mark.parametrize(
    ("imported", "seconds", "said"),
    [
        ("tidy.runtime", 1.1, f"no op ran while it was recorded{_CHILDREN}: give tidy run what"),
        ("tidy.runtime", 0, "no op ran while it was recorded: nothing to report"),
        ("os", 1.1, f"used neither torch nor tidy.runtime{_CHILDREN}: give tidy run what they run"),
    ],
)
def test_all_work_is_in_other_processes(
    imported: str, seconds: float, said: str, tmp_path: Path
) -> None:
    ended = tidy_run(_starting(tmp_path, imported, seconds), cwd=tmp_path)
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert re.search(said, line)


def test_steps_may_be_in_other_processes(tmp_path: Path) -> None:
    """Ops in the script's own process do not hide that no step of it was seen."""
    script = _starting(tmp_path, "tidy.runtime", 1.1, "tidy.runtime.ones(3) + 1")
    said, more = _notes(record(script, cwd=tmp_path).out)
    assert said.startswith(_NO_STEP)
    assert re.match(f"{_CHILDREN[2:]}: if they train, give tidy run what they run", more)


def test_a_script_that_becomes_another_program(tmp_path: Path) -> None:
    text = "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'pass'])"
    ended = tidy_run(write_script(tmp_path, text), cwd=tmp_path)
    assert ended.code == 2
    assert "which is not recorded: give tidy run that program" in ended.err


def test_a_launcher_without_ranks(tmp_path: Path) -> None:
    ended = tidy_run(write_script(tmp_path, "pass", "torchrun.py"), cwd=tmp_path)
    assert ended.code == 2
    assert ended.err.endswith("used neither torch nor tidy.runtime: nothing to report\n")


def _starting(folder: Path, imported: str, seconds: float, then: str = "") -> Path:
    """A script that starts a process which computes for so long."""
    spends = f"import time\nwhile time.process_time() < {seconds}: pass"
    start = f"subprocess.run([sys.executable, '-c', {spends!r}])"
    return write_script(folder, f"import subprocess, sys, {imported}\n{start}\n{then}")


@pytest.mark.oracle
def test_all_steps_are_on_another_thread(tmp_path: Path) -> None:
    """The thread that imported PyTorch waits, so that the recording cannot move."""
    text = _TRAIN.format(framework="torch", rounds=0, pause=0, step="pass") + _IN_A_THREAD
    said = _notes(record(write_script(tmp_path, text), cwd=tmp_path).out)
    assert said[0] == (
        "no steps are marked, since the steps ran on another thread than the main one;"
        " --all-threads records it"
    )
    assert not any("no optimizer stepped" in each for each in said)


_IN_A_THREAD = """
import threading
def train():
    for _ in range(5):
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()
net(torch.ones(2, 4))
thread = threading.Thread(target=train)
thread.start()
thread.join()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("place", "is_said"), [("cpu", True), ("cuda", False)])
def test_a_device_that_nothing_runs_on(place: str, is_said: bool, tmp_path: Path) -> None:
    script = _script(tmp_path, "tidy.runtime")
    text = script.read_text("utf-8").replace("4, 4)", f'4, 4).to("{place}")')
    script.write_text(text.replace("2, 4)", f'2, 4, device="{place}")'), "utf-8")
    ended = record("--device", "a100", script, cwd=tmp_path)
    notes = [each for each in ended.header["tidy_notes"] if "--device" in each]
    wanted = (
        "--device a100: nothing ran on the modelled device while it was recorded;"
        ' .to("cuda") moves a model and its batches there'
    )
    assert notes == [wanted] * is_said


@pytest.mark.oracle
def test_the_other_framework_did_the_work(tmp_path: Path) -> None:
    """Of two that are imported the first is recorded; where it did nothing, the cure is said."""
    text = "import torch\nimport tidy.runtime as runtime\nruntime.ones(3) + 1"
    ended = tidy_run(write_script(tmp_path, text), cwd=tmp_path)
    assert ended.code == 2
    assert ended.err.endswith("tidy.runtime is imported, too: --framework runtime records that\n")


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_nothing_of_the_recorders_is_in_the_trace(framework: str, tmp_path: Path) -> None:
    """Nor in a table or a report: neither its own functions nor what they call."""
    script = _script(tmp_path, framework, 30, step="optimizer.step(); len([id(net)])")
    ended = record("--warmup", "0", script, cwd=tmp_path)
    events = json.loads(ended.path.read_text("utf-8"))["traceEvents"]
    functions = {each["name"] for each in events if each.get("cat") == "python_function"}
    assert any("train.py" in name or name.startswith("nn.Module") for name in functions)
    stacks = {str(each.get("args", {}).get("Call stack")) for each in events}
    recorders = Path(tidy.__file__).parent
    folders = [str(recorders / name) for name in ("run", "profiler")]
    for text in (*functions, *stacks, ended.trace.key_averages().table(row_limit=-1), ended.out):
        assert not any(each in text for each in (*folders, "_tidy_child", "built-in", "sitecustom"))


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_an_optimizer_made_anew_is_the_same(framework: str, tmp_path: Path) -> None:
    """Each round has a step of it, and one of another; the old ones are still there."""
    step = "net.kept = [*getattr(net, 'kept', ()), optimizer]; optimizer.step()"
    step += "; torch.optim.SGD([net.bias], lr=0.1).step()"
    step += "; optimizer = torch.optim.SGD(net.parameters(), lr=0.1)"
    script = _script(tmp_path, framework, 6, step=step)
    trace = record("--steps", "4", script, cwd=tmp_path).trace
    calls = [each.start_ns for each in trace.named("aten::linear")]
    rounds = [[step.start_ns <= each < step.end_ns for each in calls] for step in trace.steps]
    assert [sum(each) for each in rounds] == [1] * 4


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_a_line_that_starts_nothing_is_shown_where_it_takes_long_and_a_range_where_it_is_cut(
    framework: str, tmp_path: Path
) -> None:
    trace = record("--steps", "3", _script(tmp_path, framework, pause=0.02), cwd=tmp_path).trace
    lines = list(trace.named("train.py(8): <module>"))
    places = [each.location for each in lines]
    assert all(str(each) == "train.py:8" and each.is_call_line for each in places)
    # Where the recording is cut in the line it is shown up to there, too.
    assert sum(each.duration_ns > 15_000_000 for each in lines) >= 4
    # The recording ends with the fourth step, in a hook of the optimizer's: a range that is cut
    # there does not last for what the recorder did.
    *_, step = trace.steps
    *_, optimizer = trace.named("Optimizer.step#SGD.step")
    assert optimizer.end_ns == step.end_ns
