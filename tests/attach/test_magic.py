"""`%%tidy` in an IPython shell of its own process, and what Python's REPL shows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from ..environment import ROOT, environment
from ..run.running import Ended, python, write_script

_SHELL = """
import os, sys
os.environ["NO_COLOR"] = "1"
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
def cell(source):
    result = shell.run_cell(source, store_history=True)
    error = result.error_before_exec or result.error_in_exec
    print("-- ended with", type(error).__name__ if error else "nothing")
cell("%load_ext tidy")
cell('''import tidy.runtime as torch
weight = torch.ones(4, requires_grad=True)
optimizer = torch.optim.SGD([weight], 0.1)
def step():
    weight.sum().backward()
    optimizer.step()''')
"""


def _needs_ipython(test: Callable[..., None]) -> Callable[..., None]:
    """It is installed where PyTorch is."""
    there = pytest.mark.skipif(find_spec("IPython") is None, reason="IPython is not installed")
    return pytest.mark.slow(there(test))


def _shell(tmp_path: Path, *cells: str) -> Ended:
    text = _SHELL + "".join(f"cell({each!r})\n" for each in cells)
    return python(write_script(tmp_path, text), cwd=tmp_path, IPYTHONDIR=str(tmp_path / "ipython"))


@_needs_ipython
def test_a_cell_is_recorded_and_stays_itself(tmp_path: Path) -> None:
    recorded = (
        "%%tidy --steps 3 --trace kept.json\n"
        "for number in range(9):\n"
        "    t = torch.zeros(24)\n"
        "    for i in range(24):\n"
        "        t[i] = i\n"
        "    step()\n"
        "number"
    )
    done = _shell(tmp_path, recorded, "print(number, [s.number for s in _tidy.trace.steps])")
    assert "Out[3]: 8\n" in done.out
    assert "the cell\ntidy.runtime " in done.out
    assert ", CPU run, 3 steps of" in done.out
    assert "  In[3]:5 " in done.out  # TDY404
    assert done.out.endswith("8 [1, 2, 3]\n-- ended with nothing\n")
    assert (tmp_path / "kept.json").exists()
    assert "Error" not in done.out + done.err


@_needs_ipython
def test_an_exception_ends_the_cell_with_its_own_traceback(tmp_path: Path) -> None:
    failing = "for i in range(5):\n    step()\n    if i == 3:\n        raise KeyError('mine')"
    plain, recorded = (
        _shell(tmp_path, f"# as it is\n{failing}"),
        _shell(tmp_path, f"%%tidy\n{failing}"),
    )
    tracebacks = [each.out[each.out.index("KeyError") :] for each in (plain, recorded)]
    assert "In[3], line 5" in tracebacks[1]
    assert tracebacks[1].replace("# %%tidy", "# as it is") == tracebacks[0]
    assert "tidy/" not in tracebacks[1]
    assert tracebacks[1].endswith("-- ended with KeyError\n")
    assert "CPU run, 3 steps of" in recorded.out


@_needs_ipython
def test_what_cannot_be_done_is_one_line(tmp_path: Path) -> None:
    wrong = ["%%tidy --stepz 3\n1", "%%tidy --steps 0\n1", "%%tidy --framework torch\n1"]
    done = _shell(tmp_path, *wrong, "%%tidy\n1 +* 2", "%%tidy\n7")
    lines = [line for line in (done.out + done.err).splitlines() if line.startswith("UsageError")]
    assert [line.partition(": ")[2][:42] for line in lines] == [
        "%%tidy: No such option '--stepz'. (Did you",
        "%%tidy: Invalid value for '--steps': 0 is ",
        "%%tidy: there is nothing to record: import",
    ]
    assert "SyntaxError: invalid syntax" in done.out
    assert "tidy: the cell: no op ran while it was recorded: nothing to report" in done.err
    assert "Traceback" not in done.err


@_needs_ipython
def test_help_runs_nothing(tmp_path: Path) -> None:
    """With a cell below it and without one; after `%tidy`, too, and `%%tidy?` shows the same."""
    asked = ("%%tidy --help", "%%tidy -h\n", "%%tidy --help\nprint('it ran')", "%tidy --help")
    done = _shell(tmp_path, *asked, "%%tidy?")
    *_, shown = parts = done.out.split("-- ended with nothing\n")[-len(asked) - 2 : -1]
    assert len(parts) == len(asked) + 1
    for part in parts[:-1]:
        assert "Usage: %%tidy [OPTIONS]" in part
        assert "--steps N" in part
        assert "it ran" not in part
    assert "--steps N" in shown
    assert "Error" not in done.out + done.err
    assert done.out.endswith("-- ended with nothing\n")


@_needs_ipython
def test_a_cell_that_cannot_be_recorded_does_not_run(tmp_path: Path) -> None:
    cells = ["%%tidy --stepz 3\nprint('it ran')", "%%tidy --select '\nprint('it ran')"]
    done = _shell(tmp_path, *cells, "%%tidy", "%%tidy --steps 3\n\n", "%tidy")
    lines = [line for line in (done.out + done.err).splitlines() if line.startswith("UsageError")]
    assert [line.partition(": ")[2] for line in lines[1:]] == [
        "%%tidy: No closing quotation",
        "%%tidy: there is nothing to record: write it below %%tidy",
        "%%tidy: there is nothing to record: write it below %%tidy",
        "%%tidy: there is nothing to record: begin a cell with %%tidy",
    ]
    assert "No such option '--stepz'" in lines[0]
    assert done.out.count("-- ended with UsageError") == 5
    assert "\nit ran\n" not in done.out
    assert "Traceback" not in done.out + done.err


def test_in_the_repl_of_python(tmp_path: Path) -> None:
    session = (
        "import tidy, tidy.runtime as torch\n"
        "weight = torch.ones(4, requires_grad=True)\n"
        "optimizer = torch.optim.Adam([weight])\n"
        "with tidy.record(steps=3) as recording:\n"
        "    for _ in range(9):\n"
        "        weight.sum().backward(); optimizer.step()\n"
        "\n"
        "recording\n"
        "recording.report()\n"
        "{str(each.location) for each in recording.trace.named('aten::sum')}\n"
    )
    done = subprocess.run(
        [sys.executable, "-i", "-q"],
        input=session,
        cwd=tmp_path,
        env=environment(PYTHON_BASIC_REPL="1"),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    shown = [line for line in done.stdout.splitlines() if line]
    assert shown[0] == "<tidy.Recorder of <stdin>: recorded; report() checks it>"
    assert shown[1].startswith("<Report on <stdin>: ")
    assert shown[2].endswith(":3'}")
    assert shown[2].startswith(("{'<stdin>", "{'<python-input-"))
    assert str(ROOT) not in done.stdout
