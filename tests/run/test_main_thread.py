"""What the recorder asks the main thread for, while that waits for another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from .running import python, tidy_run, write_script

_SCRIPT = """
import threading
from tidy.run.child.endings import call_in_main_thread
called = []
def ask():
    for number in range(28):
        for _ in range(3):
            call_in_main_thread(ask_for[number])
ask_for = [lambda number=number: called.append(number) for number in range(28)]
other = threading.Thread(target=ask)
other.start()
other.join()
print(*called)
"""


def test_each_call_is_there_until_the_main_thread_comes_to_it(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(_SCRIPT, "utf-8")
    done = python("script.py", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.split() == [str(number) for number in range(28)]


_INTERRUPTED = """
import threading, time
from tidy.run.child.endings import call_in_main_thread
called = []
def interrupt():
    raise KeyboardInterrupt
def note():
    called.append("called")
for function in (interrupt, note, interrupt, note):
    other = threading.Thread(target=call_in_main_thread, args=(function,))
    try:
        other.start()
        other.join()
        for _ in range(100):
            time.sleep(0.001)
    except KeyboardInterrupt:
        called.append("interrupted")
print(*called)
"""


def test_calls_go_on_after_one_that_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(_INTERRUPTED, "utf-8")
    done = python("script.py", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.split() == ["interrupted", "called"] * 2


_IMPORTED_IN_A_THREAD = """
import threading, time
def use():
    global torch
    import {module} as torch
thread = threading.Thread(target=use)
thread.start()
thread.join()
time.sleep(0.3)  # a busy machine takes as long: nobody asks to begin what has begun
weight = torch.ones(4, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(5):
    (weight * 2).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print("done")
"""


def test_a_framework_that_another_thread_imports_is_recorded(tmp_path: Path) -> None:
    script = write_script(tmp_path, _IMPORTED_IN_A_THREAD.format(module="tidy.runtime"))
    done = tidy_run("--fail-on", "never", script, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("done\n")
    assert "CPU run, 4 steps" in done.out


@pytest.mark.oracle
def test_pytorch_that_another_thread_imports_is_said_in_one_line(tmp_path: Path) -> None:
    """Its profiler can only be started where it was imported."""
    script = write_script(tmp_path, _IMPORTED_IN_A_THREAD.format(module="torch"))
    done = tidy_run("--fail-on", "never", script, cwd=tmp_path)
    assert done.out.startswith("done\n")
    said = done.err.splitlines()
    assert len(said) == 1
    assert "imported by another thread than the main one" in said[0]
