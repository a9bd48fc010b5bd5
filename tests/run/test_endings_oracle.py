"""However a PyTorch script ends, its status is its own and what was recorded is reported."""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
from pathlib import Path

import pytest

from .endings import ON_PYTORCH, TRAIN, check_ending
from .running import Recorded, record, start, tidy_run, write_script

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(os.name == "nt", reason="signals and fork are POSIX's"),
]

_TRAIN = TRAIN.format(framework="torch")
_QUIET = ("--fail-on", "never")  # what is found is not the question here
# Where a trace is written to, and who hands a signal on, are matters of the process that reports,
# whatever is recorded.
_TRAIN_SOON = TRAIN.format(framework="tidy.runtime")


@pytest.mark.parametrize("name", ON_PYTORCH)
def test_an_ending(name: str, tmp_path: Path) -> None:
    check_ending("torch", name, tmp_path)


# What PyTorch's profiler does when it is stopped for the second time.
_FAILING_STOP = """
stop, stops = torch.profiler.profile.stop, []
def stop_and_fail(profiler):
    stops.append(stop(profiler))
    if len(stops) == 2:
        {failure}
torch.profiler.profile.stop = stop_and_fail
ends = []
for _ in range(6): steps(1); ends.append(time.monotonic()); time.sleep(0.25)
with open("longest", "w") as file:
    file.write(str(max(end - begin for begin, end in zip(ends, ends[1:]))))
"""


def test_profiler_that_fails(tmp_path: Path) -> None:
    """The part is lost, and the next ones are not; what is missing is said."""
    failing = _FAILING_STOP.format(failure="raise IndexError('not in the map')")
    script = write_script(tmp_path, _TRAIN + failing)
    found = record("--warmup", "0", "--steps", "10", script, cwd=tmp_path)
    assert (found.code, found.err) == (0, "")
    said = re.search(
        r"1 part of the recording, with steps? (\d+)(?:-(\d+))?, left out:"
        r" the profiler failed \(IndexError: not in the map\)",
        " ".join(found.out.split()),
    )
    assert said is not None, found.out
    lost = range(int(said[1]), int(said[2] or said[1]) + 1)
    numbers = [step.number for step in found.trace.steps]
    assert numbers == [number for number in range(10) if number not in lost]
    # What was lost is in none of those that are left; on a busy machine one lasts for longer.
    longest_ns = float((tmp_path / "longest").read_text("utf-8")) * 1e9
    assert max(step.duration_ns for step in found.trace.steps) < longest_ns + 0.2e9


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="others have no on_exit")
def test_profiler_that_fails_with_its_device(tmp_path: Path) -> None:
    """What C++ has to do at the end would crash; the status stays the script's, and its output."""
    failing = _FAILING_STOP.format(failure="raise RuntimeError('CUDA error: an assertion')")
    at_exit = "import ctypes\nc = ctypes.CDLL(None)\nc.on_exit(c.abort, None)\nc.puts(b'from C')\n"
    script = write_script(tmp_path, _TRAIN + at_exit + failing + "import sys; sys.exit(3)")
    found = tidy_run("--warmup", "0", "--steps", "10", script, cwd=tmp_path)
    assert (found.code, found.err) == (3, "")
    assert "from C\n" in found.out
    assert "the profiler failed (RuntimeError: CUDA error: an assertion)" in " ".join(
        found.out.split()
    )


def test_profiler_that_crashes(tmp_path: Path) -> None:
    """What was written before stays; that the end is missing is said."""
    failing = _FAILING_STOP.format(failure="os.kill(os.getpid(), signal.SIGSEGV)")
    script = write_script(tmp_path, _TRAIN + failing)
    found = record("--warmup", "0", "--steps", "10", script, cwd=tmp_path)
    assert (found.code, found.err) == (128 + signal.SIGSEGV, "")
    said = re.search(
        "note: the recording ended early: the script was ended by SIGSEGV while a part was being"
        r" written; what ran after step (\d+) is lost",
        " ".join(found.out.split()),
    )
    assert said is not None
    assert [step.number for step in found.trace.steps] == list(range(int(said[1]) + 1))


# What PyTorch's profiler does when it exports a part after one with steps was written.
_KILLED_EXPORT = """
import json
from glob import glob
from tempfile import gettempdir
export = torch.profiler.profile.export_chrome_trace
def export_and_die(profiler, path):
    export(profiler, path)
    written = glob(f"{{gettempdir()}}/tidy-run-{{os.getppid()}}-*/piece-?.json")
    ended = sum(len(json.load(open(each))["steps_ns"]) for each in written)
    if ended:
        {more}
        print(ended, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
torch.profiler.profile.export_chrome_trace = export_and_die
for _ in range(3000): steps(1)
"""


@pytest.mark.parametrize(
    "more",
    ["os.truncate(path, os.path.getsize(path) // 2)", "os.truncate(path, 0)", "pass"],
    ids=["half", "nothing", "all-but-its-facts"],
)
def test_killed_while_a_piece_is_written(more: str, tmp_path: Path) -> None:
    """What was written before is reported, whatever there is of the part under way."""
    script = write_script(tmp_path, _TRAIN + _KILLED_EXPORT.format(more=more))
    found = record("--warmup", "0", "--steps", "100000", script, cwd=tmp_path)
    assert (found.code, found.err) == (128 + signal.SIGKILL, "")
    ended = int(found.out.split("\n")[1])
    said = "ended by SIGKILL while a part was being written; what ran after step"
    assert f"{said} {ended - 1} is lost" in " ".join(found.out.split())
    assert [step.number for step in found.trace.steps] == list(range(ended))


def test_interrupted_while_a_piece_is_written(tmp_path: Path) -> None:
    """Ctrl-C reaches the script, though it came while the recorder was at work."""
    interrupted = _FAILING_STOP.format(failure="os.kill(os.getpid(), signal.SIGINT)")
    text = _TRAIN + interrupted + "for _ in range(40): time.sleep(0.2)\nprint('not interrupted')"
    script = write_script(tmp_path, text)
    found = record("--warmup", "0", "--steps", "1000", script, cwd=tmp_path)
    assert found.code == 128 + signal.SIGINT
    assert found.out.startswith("trained\nat exit\n\n")
    assert "of the recording" not in found.out
    assert found.err.endswith("KeyboardInterrupt\n")


def test_killed_before_anything_was_written(tmp_path: Path) -> None:
    text = "import os, signal, torch\ntorch.ones(3).exp()\nos.kill(os.getpid(), signal.SIGKILL)"
    script = write_script(tmp_path, text)
    found = tidy_run(script, cwd=tmp_path)
    assert (found.code, found.out) == (128 + signal.SIGKILL, "")
    assert found.err == (
        f"tidy: {script}: the recording ended early: the script was ended by SIGKILL;"
        " what ran last is lost\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C goes to both processes, SIGTERM to tidy alone; both end as the script does."""
    script = write_script(tmp_path, _TRAIN_SOON + "time.sleep(60)")
    path = tmp_path / "kept.json"
    command = start("--warmup", "0", "--trace", path, script, cwd=tmp_path)
    assert command.stdout is not None
    assert command.stdout.readline() == "trained\n"
    if number == signal.SIGINT:
        os.killpg(command.pid, number)
    else:
        command.send_signal(number)
    out, err = command.communicate(timeout=300)
    assert command.returncode == 128 + number
    assert ", CPU run, " in " ".join(out.split())
    assert ("KeyboardInterrupt" in err) == (number == signal.SIGINT)
    assert "tidy" not in err
    assert len(Recorded(0, "", "", path).trace.steps) == 4


@pytest.mark.parametrize("form", ["text", "json"])
def test_read_only_target(form: str, tmp_path: Path) -> None:
    script = write_script(tmp_path, _TRAIN_SOON)
    found = tidy_run(*_QUIET, "--trace", "/proc/kept.json", "--format", form, script, cwd=tmp_path)
    assert found.code == 0
    assert "train.py" in found.out
    last = found.err.splitlines()[-1]
    assert last.startswith("tidy: --trace /proc/kept.json: cannot be written: ")


def test_full_target(tmp_path: Path) -> None:
    script = write_script(tmp_path, _TRAIN_SOON)
    found = tidy_run(*_QUIET, "--trace", "/dev/full", script, cwd=tmp_path)
    assert found.code == 0
    assert "train.py" in found.out
    said = re.fullmatch(
        "tidy: --trace /dev/full: cannot be written: no space left on device;"
        r" the recording stays in (.+) \(tidy report --recover\)\n",
        found.err,
    )
    assert said is not None, found.err
    assert Path(said[1], "piece-0.json").exists()
    shutil.rmtree(said[1])


def test_full_disk(tmp_path: Path) -> None:
    """Once a piece is written, no file may grow beyond 20 kB: those that follow are lost."""
    first = (
        "from glob import glob\nfrom tempfile import gettempdir\n"
        "for _ in range(100):\n    steps(1); time.sleep(0.01)\n"
        "    if glob(f'{gettempdir()}/tidy-run-{os.getppid()}-*/piece-0.json'): break\n"
    )
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
    script = write_script(tmp_path, _TRAIN + first + limit + "steps(300)")
    found = record("--warmup", "0", "--steps", "1000", script, cwd=tmp_path)
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("trained\nat exit\n\n")
    assert "left out" in found.out
    recorded = [step.number for step in found.trace.steps]
    assert recorded
    assert recorded == list(range(len(recorded)))
