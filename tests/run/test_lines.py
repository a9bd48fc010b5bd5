"""The line log: at every call into a library the line of the user's frame on top is known.

`mark(n)` stands on line n of the script and is a library's, so nothing of it is logged.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from tidy.run.frames import NONE, FrameStacks, Replay

from ..environment import ROOT, environment
from .running import python, write_script

_LIBRARY = """\
import threading, time
marks = []
def mark(number):
    marks.append((time.time_ns(), threading.get_native_id(), number))
def call(function, *args):
    return function(*args)
"""
_SCRIPT = """\
from marks import call, mark
import threading
def inner(n):
    mark(4)
    return n
def count():
    for i in range(3):
        mark(8); yield i
        mark(9)
def fail():
    mark(11)
    raise ValueError
def recursive(n):
    if n:
        recursive(n - 1)
    mark(16)
async def outer():
    mark(18)
    await other()
    mark(20)
async def other():
    mark(22)
def work():
    for _ in range(50):
        mark(25)
        inner(1)
    mark(27)
def main():
    mark(29); inner(2); mark(29)
    [mark(30) for _ in range(3)]
    call(inner, 3); mark(31)
    for i in count():
        mark(33)
    try:
        fail()
    except ValueError:
        mark(37)
    mark(38)
    recursive(3); mark(39)
    g = count(); next(g); mark(40); g.close(); mark(40)
    try:
        call(fail)
    except ValueError: mark(43)
    coroutine = outer()
    try:
        coroutine.send(None)
    except StopIteration: mark(47)
    mark(48,
    ) if inner(2) else mark(0)
    thread = threading.Thread(target=work); thread.start(); work(); thread.join(); mark(50)
    call(lambda: mark(51))
    g = count(); next(g)
    try:
        g.throw(KeyError)
    except KeyError: mark(55)
    mark(56)
"""
_MANY_SHORT_LINES = """\
from marks import mark
def main():
    total = 0
    mark(4)
    for i in range(50_000):
        total += i
        if i % 5000 == 4999:
            mark(8)
    mark(9)
    for i in range(20):
        total += i
        mark(12)
        total += i
"""
_DRIVER = """\
import importlib.util, json, sys
folder, library = sys.argv[1:]
spec = importlib.util.spec_from_file_location(
    "_tidy_child", folder + "/__init__.py", submodule_search_locations=[folder]
)
sys.modules["_tidy_child"] = importlib.util.module_from_spec(spec)
if sys.version_info >= (3, 12):
    from _tidy_child.lines_monitoring import MonitoringLines as Lines
else:
    from _tidy_child.lines_trace import TraceLines as Lines
sys.path.append(library)
import marks
lines = Lines(lambda now: None)
lines.start()
import script
script.main()
log = lines.stop(final=True)
print(json.dumps({
    "threads": log.threads, "parts": [part.hex() for part in log.parts],
    "codes": log.codes, "marks": marks.marks,
}))
"""


def test_every_call_of_a_library_is_on_its_line(tmp_path: Path) -> None:
    lengths, mark_count = _follow(_SCRIPT, tmp_path)
    assert len(lengths) == 2
    assert mark_count > 200


def test_short_lines_are_not_logged_each_time(tmp_path: Path) -> None:
    """Those between them that call a library are exact nevertheless.

    Time goes on by 50 ns each time that it is read, so each line is short.
    """
    clock = "import itertools, time\ntime.time_ns = itertools.count(10**18, 50).__next__\n"
    ((length,), mark_count) = _follow(_MANY_SHORT_LINES, tmp_path, clock + _DRIVER)
    assert mark_count == 32
    assert length < 5_000  # of 125,000 lines that ran


def _follow(script: str, folder: Path, driver: str = _DRIVER) -> tuple[list[int], int]:
    """Run a script and look at each mark of it: how much each thread logged, and their number."""
    library = folder / "site-packages"
    project = folder / "project"
    for path, text in ((library / "marks.py", _LIBRARY), (project / "script.py", script)):
        path.parent.mkdir()
        path.write_text(text, "utf-8")
    (project / "driver.py").write_text(driver, "utf-8")
    child = ROOT / "tidy" / "run" / "child"
    done = subprocess.run(
        [sys.executable, "driver.py", str(child), str(library)],
        cwd=project, env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = json.loads(done.stdout)
    stacks, lines = FrameStacks(), {}
    lengths = []
    for (thread, count), part in zip(said["threads"], said["parts"], strict=True):
        triples = np.frombuffer(bytes.fromhex(part), np.int64).reshape(-1, 3)
        lines[thread] = Replay(stacks).read(triples)
        lengths.append(count)
    for time_ns, thread, number in said["marks"]:
        stack = int(lines[thread].at(np.array([time_ns]))[0][0])
        assert stack != NONE
        _, code, line = stacks.nodes[stack]
        assert line == number
        assert said["codes"][code][0] == str(project / "script.py")
    return lengths, len(said["marks"])


_BEGUN_AGAIN = """\
import importlib, sys, threading
if sys.version_info >= (3, 12):
    from tidy.run.child.lines_monitoring import MonitoringLines as Lines
else:
    from tidy.run.child.lines_trace import TraceLines as Lines
lines = Lines(lambda now_ns: None)
is_there, begun_again = threading.Event(), threading.Event()
def work():
    is_there.set()
    begun_again.wait()
    importlib.import_module("json")
    last()
def last():
    print("to the end")
lines.start()
thread = threading.Thread(target=work)
thread.start()
is_there.wait()
lines.stop(final=True)
lines.start()
begun_again.set()
thread.join()
log = lines.stop(final=True)
print([function for _, function, _, _ in log.codes])
"""


def test_a_thread_is_still_there_when_recording_begins_again(tmp_path: Path) -> None:
    """It has what traced it before, and goes on as it would without."""
    script = write_script(tmp_path, _BEGUN_AGAIN)
    done = python(script, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    first, codes = done.out.splitlines()
    assert first == "to the end"
    assert {"work", "last"} <= set(ast.literal_eval(codes))
