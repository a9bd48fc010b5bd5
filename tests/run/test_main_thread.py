"""What the recorder asks the main thread for, while that waits for another one."""

from __future__ import annotations

from pathlib import Path

from .running import python

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
