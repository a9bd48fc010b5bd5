"""How the command ends when its reader, its user or the disk has had enough."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..environment import ROOT, SOAK, environment
from .command import EXAMPLES, Result, arguments, tidy
from .traces import clean, text

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")

# A shell that starts us in the background has interrupts ignored; a terminal has not.
_INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tidy.cli import main
main()
"""
_WRITERS = [
    ["report", str(EXAMPLES[0])],
    *(["report", str(path), "--format", "json"] for path in EXAMPLES[:2]),  # long and short
    ["rules"],
    ["explain", "TDY404"],
]


def _into(out: int, given: list[str]) -> tuple[int, str]:
    """Exit code and stderr of the command with its output going to `out`."""
    done = subprocess.run(
        arguments(*given), stdout=out, stderr=subprocess.PIPE, env=environment(), check=False
    )
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("given", _WRITERS if SOAK else _WRITERS[::2])
def test_a_reader_that_left_is_no_error(given: list[str]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    code, problem = _into(writes, given)
    os.close(writes)
    assert (code, problem) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("given", [_WRITERS[2], ["--version"]])
def test_a_full_disk_is_one_line(given: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        code, problem = _into(full.fileno(), given)
    assert code == 2
    assert problem.startswith("tidy: standard output: no space left")
    assert len(problem.splitlines()) == 1


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("tidy.commands.files.read_trace", f"{EXAMPLES[0]}: cannot be read: not enough memory"),
        (
            "tidy.commands.report.judge",
            "not enough memory; give fewer traces at a time, or record fewer steps",
        ),
    ],
)
def test_too_little_memory_is_one_line(
    where: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise MemoryError("Unable to allocate 2.01 MiB for an array")

    monkeypatch.setattr(where, fails)
    assert tidy("report", EXAMPLES[0]) == Result(2, "", f"tidy: {said}\n")


def test_a_working_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    shell = ["/bin/sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *arguments("report", EXAMPLES[0])]
    (tmp_path / "gone").mkdir()
    done = subprocess.run(
        shell,
        cwd=tmp_path / "gone",
        capture_output=True,
        env=environment() | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    line = b"tidy: the working folder is no longer there; change to one that is\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", line)


@pytest.mark.parametrize("form", ["text", "json"])
def test_without_any_output_the_verdict_is_left(form: str) -> None:
    command = arguments("report", EXAMPLES[0], "--format", form)
    shell = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command]
    done = subprocess.run(shell, stderr=subprocess.PIPE, env=environment(), check=False)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_interrupt_is_one_line() -> None:
    """The command has read most of the 4 MB when all fit into the pipe, and waits for more."""
    events = text(clean()).split(b"]")[0] + b", " + b" " * (4 << 20)
    with subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTIBLE, "report", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        process.stdin.write(events)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, problem = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, b"")
    assert problem.decode().split("\n") == ["", "tidy: interrupted", ""]


_COMMANDS = (["report", str(EXAMPLES[0])], ["account", str(EXAMPLES[0])], ["--help"], ["run"])
# Importing the package runs these before there is a handler.
_FIRST = {
    str(ROOT / "tidy" / "__init__.py"): {"<module>"},
    str(ROOT / "tidy" / "__main__.py"): {"<module>", "_Raised"},
}
_MODULES = ["click", "numpy", "msgspec", "rich"]
# Where a module of that name is imported, Ctrl-C is pressed: in what loads it, or in what Python
# calls by itself and whose exceptions it only prints.
_PRESSED = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
_PRESSED_WHERE_IT_IS_LOST = f"""
class Last:
    def __del__(self):
        {_PRESSED.strip().replace(chr(10), "; ")}
Last()
"""


def _interrupted(
    folder: Path, given: list[str], after_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    """The command with the folder before all others on its path; Ctrl-C after so many seconds."""
    program = _INTERRUPTIBLE.replace("tidy.cli", "tidy.__main__")
    with subprocess.Popen(
        [sys.executable, "-c", program, *given],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment(PYTHONPATH=os.pathsep.join([str(folder), str(ROOT)])),
        start_new_session=True,
        text=True,
    ) as process:
        if after_s is not None:
            time.sleep(after_s)
            os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(given, process.returncode, out, err)


@pytest.mark.parametrize("text", [_PRESSED, _PRESSED_WHERE_IT_IS_LOST])
@pytest.mark.parametrize("module", _MODULES)
def test_an_interrupt_while_modules_are_loaded_is_one_line(
    module: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / f"{module}.py").write_text(text, "utf-8")
    done = _interrupted(tmp_path, ["report", str(EXAMPLES[0])])
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\ntidy: interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize("given", _COMMANDS, ids=lambda given: given[0])
def test_an_interrupt_at_any_moment_shows_no_frame_of_ours(
    given: list[str], tmp_path: Path
) -> None:
    """Python's own start, before any line of ours, has tracebacks of its own; so has a script."""
    script = tmp_path / "train.py"
    script.write_text("import time\ntime.sleep(0.2)\n", "utf-8")
    given = [*given, str(script)] if given == ["run"] else given
    for moment in range(0, 400, 10 if SOAK else 50):
        done = _interrupted(tmp_path, given, moment / 1000)
        frames = re.findall(r'File "([^"]*)", line [0-9]+, in (.*)', done.stderr)
        ours = {(file, name) for file, name in frames if file.startswith(str(ROOT))}
        assert all(name in _FIRST.get(file, ()) for file, name in ours), done.stderr
        assert done.returncode in {0, 1, 2, 130, -signal.SIGINT}, done.stderr
