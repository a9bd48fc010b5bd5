"""Scripts that do what no script should, as under `python`: streams, files and exit status."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from ..environment import SOAK
from .running import Ended, python, tidy_run, without_runtime, write_script

_SCRIPTS = Path(__file__).with_name("hostile")
_QUICK = {"hostile_texts", "own_signal_handler", "exec_fails"}
_TRAINING = """
import {framework} as torch
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.ones(2, 4)
def step():
    loss = net(x).sum()
    loss.backward()
    optimizer.step()
def steps(count):
    for _ in range(count):
        step()
"""
_ALL = sorted(path.stem for path in _SCRIPTS.glob("*.py"))
# What libraries do, and what happens to users, so that each part of the recorder meets one. Plain
# ends, by a signal or `exec` or with all closed, are in endings.py, and some run on PyTorch, below;
# the others are for `make soak`.
_CORE = {
    "collector_callbacks", "exit_in_threads", "failing_hooks", "failing_import", "faults",
    "hostile_class", "limits", "lost_folder", "no_room", "own_audit_hook", "own_profiler",
    "own_tracer", "patched_os", "patched_time", "recursion_traces", "replaced_open",
    "run_from_runpy", "spawned", "uses_the_profiler", *_QUICK,
}  # fmt: skip
_NAMES = _ALL if SOAK else sorted(_CORE)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals, forks and limits are POSIX's")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in _QUICK else [pytest.mark.slow]) for name in _NAMES],
)
def test_on_the_runtime(name: str, tmp_path: Path) -> None:
    _is_the_same(name, "tidy.runtime", tmp_path)


_KINETO_SPEAKS = pytest.mark.xfail(
    reason="with no descriptor left Kineto says on stderr that it cannot read the process's name"
)


# Those in which the framework has a part: its profiler, threads, signals, descriptors, memory. It
# takes seconds to import, twice a script: all of them are for `make soak`.
_OF_THE_FRAMEWORK = {
    "advised", "forks", "interrupted", "no_descriptors", "odd_modules", "recursion_in_a_step",
    "threads",
}  # fmt: skip
_ON_PYTORCH = _ALL if SOAK else sorted(_OF_THE_FRAMEWORK)
# Those that print what the framework says. Under `python` the others do the same on both.
_PRINT_ERRORS = {"odd_modules"}


@pytest.mark.oracle
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[_KINETO_SPEAKS] if name.startswith("no_descriptors") else [])
        for name in _ON_PYTORCH
    ],
)
def test_on_pytorch(name: str, tmp_path: Path) -> None:
    _is_the_same(name, "torch", tmp_path)


def _is_the_same(name: str, framework: str, folder: Path) -> None:
    """Both ways in a folder of the same path, since a traceback has it."""
    report, place = folder / "report.txt", folder / "place"
    is_quick = not SOAK and name not in _PRINT_ERRORS
    plain = "tidy.runtime" if is_quick else framework
    as_always, files = _once(name, plain, place, python)
    found, found_files = _once(
        name, framework, place, tidy_run, "--steps", "4", "--fail-on", "never", "-o", report
    )
    err = "".join(
        line for line in found.err.splitlines(keepends=True) if not line.startswith("tidy: ")
    )
    assert found.out == as_always.out
    if framework == "torch":
        assert _without_numbers(_of_the_script(err)) == _without_numbers(as_always.err)
    else:
        assert without_runtime(err) == without_runtime(as_always.err)
    assert found_files == files
    # A script that is done without an error leaves the exit code to the report.
    assert found.code == as_always.code or (as_always.code == 0 and found.code == 2)
    text = report.read_text("utf-8") if report.exists() else ""
    assert text or "tidy: " in found.err
    assert "internal error" not in found.err


def _of_the_script(err: str) -> str:
    """Without what PyTorch's allocator says, once, of memory that is older than the recording.

    Whether there is any when a recording begins again depends on when a script is interrupted.
    """
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if "CPUAllocator.cpp" not in line)


def _without_numbers(text: str) -> str:
    """Without addresses, and the times and processes that PyTorch and Kineto put before a line."""
    log = r"^\[?W[0-9]{4} [0-9:.]+ [0-9]*|(?<=^USDT:)[0-9 :-]+"
    return re.sub(f"0x[0-9a-f]+|{log}", "#", text, flags=re.MULTILINE)


def _once(
    name: str, framework: str, place: Path, run: object, *given: str | Path
) -> tuple[Ended, dict[str, bytes]]:
    shutil.rmtree(place, ignore_errors=True)
    write_script(place, _TRAINING.format(framework=framework), "training.py")
    script = shutil.copy(_SCRIPTS / f"{name}.py", place / "train.py")
    assert callable(run)
    ended = run(*given, script, cwd=place, PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0")
    (place / "training.py").unlink(missing_ok=True)  # which names the framework
    files = {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    return ended, files
