"""`tidy.record` in scripts with PyTorch and with tidy.runtime: places, and what is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tidy

from ..environment import SOAK
from ..run.running import python, tidy_run, write_script
from .workloads import named_lines, script

_FRAMEWORKS = [pytest.param("torch", marks=pytest.mark.oracle), "tidy.runtime"]
_LOOP = """
import tidy
with tidy.record(steps=5) as recording:
    for _ in range(12):
        step()
recording.save("trace.json")
"""
_STATE = """
import os, sys, tempfile, tidy
def state():
    found = [sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.active_count()]
    if hasattr(sys, "monitoring"):
        found.append([sys.monitoring.get_tool(i) for i in range(6)])
    if "torch" in sys.modules and sys.modules["torch"].__name__ == "torch":
        import torch.autograd.profiler as p
        from torch.optim import optimizer as o
        found += [p._enable_profiler, p._prepare_profiler, len(o._global_optimizer_post_hooks)]
        found += [torch.autograd._profiler_enabled()]
    return found
"""


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_places_are_those_of_tidy_run(framework: str, tmp_path: Path) -> None:
    text = script(framework, _LOOP)
    done = python(write_script(tmp_path, text), cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "", "")
    attached = tidy.check(tidy.load(tmp_path / "trace.json"))
    plain = write_script(tmp_path, text.replace("with tidy.record(steps=5) as recording:", "if 1:"))
    plain.write_text(plain.read_text("utf-8").replace('recording.save("trace.json")', ""), "utf-8")
    tidy_run("--steps", "5", "--trace", "ran.json", plain, cwd=tmp_path)
    ran = tidy.check(tidy.load(tmp_path / "ran.json"))
    for report in (attached, ran):
        found = [(each.code, each.location) for each in report.findings]
        places = {(code, place.line, place.is_call_line) for code, place in found if place}
        wanted = {(code, line, True) for code, line in named_lines(text)}
        assert wanted <= places
        assert {place.file for _, place in found if place} == {"train.py"}
    assert {f.code for f in attached.findings} == {f.code for f in ran.findings}


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_the_process_is_as_before(framework: str, tmp_path: Path) -> None:
    """After each of several recordings; nothing of tidy is in the trace of the last."""
    loop = """
    before = state()
    def record(count, **options):
        try:
            with tidy.record(steps=3, **options):
                for _ in range(count):
                    step()
                if not count:
                    raise KeyError
        except KeyError:
            pass
        return [i for i, (a, b) in enumerate(zip(before, state())) if a != b]
    print(record(9), record(2), record(0), record(9, after=3), record(9, seconds=0.01))
    print(record(9, stack=False))
    recording = tidy.Recorder(steps=50, framework="auto")
    recording.start()
    for _ in range(20):
        step()
        recording.step()
    recording.stop()
    recording.save("trace.json")
    """
    path = write_script(tmp_path, script(framework, _STATE, loop))
    done = python(path, cwd=tmp_path, TMPDIR=str(tmp_path))
    assert (done.code, done.out.split()) == (0, ["[]"] * 6), done.err
    # PyTorch's allocator may say of a second recording that it does not know older memory.
    assert framework == "torch" or done.err == ""
    assert [each.name for each in tmp_path.glob("tidy-*")] == []
    events = json.loads((tmp_path / "trace.json").read_text("utf-8"))["traceEvents"]
    folder = str(Path(tidy.__file__).parent)
    ours = {e["name"] for e in events if e.get("cat") == "python_function" and folder in e["name"]}
    assert ours == set()
    assert {step.number for step in tidy.load(tmp_path / "trace.json").steps} == set(range(1, 20))


# With PyTorch it starts PyTorch's profiler, which goes first (tests/run/test_recording_oracle.py).
@pytest.mark.parametrize("framework", _FRAMEWORKS if SOAK else _FRAMEWORKS[1:])
def test_under_tidy_run_it_goes_first(framework: str, tmp_path: Path) -> None:
    text = script(
        framework, "step()\nstep()\n", _LOOP, "print('steps', len(recording.trace.steps))"
    )
    ended = tidy_run("--savings", "off", write_script(tmp_path, text), cwd=tmp_path)
    assert ended.out.startswith("steps 5\n")
    assert "the recording ended when the script started a profiler of its own" in " ".join(
        ended.out.split()
    )
    assert ended.err == ""


def test_without_a_framework(tmp_path: Path) -> None:
    text = "import tidy\nwith tidy.record(): pass\n"
    done = python(write_script(tmp_path, text), cwd=tmp_path)
    last = done.err.splitlines()[-1]
    assert last == (
        "tidy.errors.UsageError: there is nothing to record: import torch or tidy.runtime before"
    )


@pytest.mark.oracle
def test_a_profiler_of_the_script_goes_first(tmp_path: Path) -> None:
    loop = """
    import tidy
    from torch.profiler import profile
    with profile() as own:
        try:
            tidy.record().start()
        except tidy.errors.UsageError as error:
            print(error)
        step()
    print(any(event.name == "aten::addmm" for event in own.events()))
    with tidy.record() as recording:
        step()
        step()
        with profile() as own:
            step()
    print(any(event.name == "aten::addmm" for event in own.events()))
    print([each for each in recording.trace.info.warnings if "its own" in each or "of its" in each])
    print(len(list(recording.trace.named("aten::addmm"))))
    """
    done = python(write_script(tmp_path, script("torch", loop)), cwd=tmp_path)
    assert done.out.splitlines() == [
        "cannot be recorded: a profiler runs already, and there can be only one: stop it first",
        "True",
        "True",
        "['the recording ended when the script started a profiler of its own']",
        "4",
    ]


@pytest.mark.oracle
def test_places_of_a_loop_that_is_a_librarys(tmp_path: Path) -> None:
    """Pieces in which no line of the user runs have the place of the line that called."""
    write_script(
        tmp_path,
        """
        import time
        def fit(step, count):
            for _ in range(count):
                step()
                time.sleep(0.06)
        """,
        "site-packages/library.py",
    )
    text = """
    import sys
    sys.path.append("site-packages")
    import library, tidy, torch
    weight = torch.ones(4, requires_grad=True)
    weight.grad = torch.ones(4)
    optimizer = torch.optim.SGD([weight])
    with tidy.record(steps=8) as recording:
        library.fit(optimizer.step, 12)  # line 9
    ops = list(recording.trace.named("Optimizer.step#SGD.step"))
    print(len(ops), {str(each.location) for each in ops})
    """
    done = python(write_script(tmp_path, text), cwd=tmp_path)
    assert (done.out, done.err) == ("9 {'train.py:9'}\n", "")


@pytest.mark.oracle
def test_of_both_frameworks_the_one_whose_optimizer_steps(tmp_path: Path) -> None:
    """Whichever was recorded before; the hooks of the other one are as before."""
    loop = """
    import tidy, tidy.runtime
    from tidy.runtime.optim import optimizer as theirs
    weight = tidy.runtime.ones(3, requires_grad=True)
    other = tidy.runtime.optim.SGD([weight], lr=0.1)
    def step_of_the_other():
        weight.sum().backward()
        other.step()
    def record(work):
        before = len(theirs._all_post_hooks)
        with tidy.record(steps=3) as recording:
            for _ in range(8):
                work()
        assert len(theirs._all_post_hooks) == before
        try:
            trace = recording.trace
            print(trace.info.framework.split()[0], [each.number for each in trace.steps])
        except tidy.errors.UsageError as error:
            print("nothing:", str(error).rpartition("; ")[2])
    for work in (lambda: tidy.runtime.ones(3), step, step_of_the_other, step):
        record(work)
    """
    done = python(write_script(tmp_path, script("torch", loop)), cwd=tmp_path)
    assert done.err == ""
    assert done.out.splitlines() == [
        "nothing: tidy.runtime is imported, too: --framework runtime records that",
        "PyTorch [1, 2, 3]",
        "tidy.runtime [1, 2, 3]",
        "PyTorch [1, 2, 3]",
    ]


_CUT_ANYWHERE = """
import {framework} as torch
from tidy.run.child import endings, recorder, stages

sys.setswitchinterval(1e-6)  # what is due is due between any two bytecodes
stages._FIRST_NS = stages._SHORTEST_NS = stages._LONGEST_NS = {piece_ns}

class Often(endings.Ticker):
    def __init__(self, seconds, function):
        super().__init__(0.0002, function)

recorder.endings.Ticker = Often
weight = torch.ones(4, 4, requires_grad=True)
optimizer = torch.optim.SGD([weight], 0.1)
for _ in range({recordings}):
    with tidy.record(steps=20) as recording:
        for _ in range(23):
            optimizer.zero_grad()
            (weight @ torch.ones(4, 4)).sum().backward()
            optimizer.step()
    steps = recording.trace.steps
    assert [step.number for step in steps] == [*range(1, 21)], steps
    assert all(a.end_ns <= b.start_ns for a, b in zip(steps, steps[1:])), steps
    assert len([*recording.trace.named("aten::matmul")]) >= 20
print("done")
"""


@pytest.mark.parametrize(
    ("framework", "piece_ns", "recordings"),
    [
        pytest.param("torch", 3_000_000, 8, marks=pytest.mark.oracle),
        ("tidy.runtime", 200_000, 8),
    ],
)
def test_cuts_at_any_moment_lose_no_step(
    framework: str, piece_ns: int, recordings: int, tmp_path: Path
) -> None:
    """Many cuts come due while a step is noted; the script goes on, and its steps stay in order."""
    text = _CUT_ANYWHERE.format(framework=framework, piece_ns=piece_ns, recordings=recordings)
    done = python(write_script(tmp_path, "import sys\nimport tidy\n" + text), cwd=tmp_path)
    assert (done.code, done.out) == (0, "done\n"), done.err
