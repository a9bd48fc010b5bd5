"""A trace that worker processes read is the same, to the last byte, as one process reads."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tidy
from tidy.errors import TraceFormatError
from tidy.readers import chrome, container, event_text, read_trace
from tidy.readers.workers import Task, Workers
from tidy.trace import Trace

from ..endings import ENDINGS, needs_proc, run_alone, wait_until_over
from ..environment import SOAK
from .written import document, event

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "traces" / "train_cnn.json.gz"
_SHARED = ROOT.parent / "shared" / "traces"
# All in `make soak`; else some of each origin, as far as they are small.
_ALL = sorted(path for path in _SHARED.rglob("*.json*") if path.is_file())
TRACES = _ALL if SOAK else [path for path in _ALL[::9] if path.stat().st_size < 1_000_000]


@pytest.fixture(autouse=True)
def _small_files_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome, "LARGE_NBYTES", 1)
    monkeypatch.setattr(container, "BLOCK_NBYTES", 9_000)
    monkeypatch.setattr(event_text, "PIECE_NBYTES", 10_000)


def all_of(trace: Trace) -> dict[str, Any]:
    """Everything that was read, bytes of columns and tables of texts."""
    columns = {
        name: (value.dtype, value.tobytes())
        for name, value in vars(trace).items()
        if isinstance(value, np.ndarray)
    }
    assert len(columns) > 12
    memory = [getattr(trace.memory, name).tobytes() for name in ("row", "address")]
    tables = ("names", "tracks", "texts", "signatures", "stacks")
    texts = {name: list(getattr(trace.strings, name)) for name in tables}
    return columns | texts | {"info": trace.info, "memory": memory}


def outcome(path: Path, **how: Any) -> Any:
    """What a file becomes, or the message of its refusal."""
    try:
        return all_of(read_trace(path, **how))
    except TraceFormatError as error:
        return str(error)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name[:40])
def test_real_traces(path: Path) -> None:
    assert outcome(path, jobs=2) == outcome(path)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_however_workers_are_started(
    method: str, monkeypatch: pytest.MonkeyPatch, done: list[bool]
) -> None:
    if method == "fork" and not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    assert all_of(read_trace(EXAMPLE, jobs=3, method=method)) == all_of(read_trace(EXAMPLE))
    assert len(done) > 8
    assert all(done)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each task that is over whether a worker did it."""
    found: list[bool] = []
    real = Task.finish

    def finish(self: Any, *results: Any) -> None:
        found.append(bool(results))
        real(self, *results)

    monkeypatch.setattr(Task, "finish", finish)
    return found


def test_small_files_start_no_workers(monkeypatch: pytest.MonkeyPatch, done: list[bool]) -> None:
    monkeypatch.setattr(chrome, "LARGE_NBYTES", 20_000_000)
    read_trace(EXAMPLE, jobs=2)
    assert done == []


MANY = [event(f"op{n % 50}", 10 * n, 7, args={"x": n, "Ev Idx": n}) for n in range(1600)]
SOUND = document(MANY, traceName="t")


@pytest.mark.parametrize(
    "content",
    [
        SOUND,
        SOUND.replace('"x": 800', '"x": inf'),
        SOUND.replace('"op7"', '"o"p7"'),
        SOUND.replace('"Ev Idx": 480}', '"Ev Idx": 480'),
        SOUND.replace('"x": 1200,', '"x": "}, {", "y": [{}, {"ph": "X"}, {}],'),
        SOUND.replace('"Ev Idx": 600', '"Ev Idx": "none"'),
        SOUND.replace('"Ev Idx": 600', '"Ev Idx": []').replace('"op9"', "17"),
        SOUND[: len(SOUND) // 2],
        SOUND[: len(SOUND) // 2] + '}], "traceEvents": [' + SOUND[len(SOUND) // 2 :],
        SOUND.replace("},", "}, 5, null,", 360),
        json.dumps(MANY),
        document(MANY, metadata=["x" * 50_000]),
        document([*MANY[:400], event("x" * 100_000, 3), *MANY[400:]]),
        SOUND.replace('"ts": 800', '"ts": 1712345678123456.123'),
        SOUND.replace('"ts": 8000', '"ts": 1712345678123456.123'),
        SOUND.replace('"ts": 3', '"ts": 1712345678.5'),
        SOUND.replace('"ts": 100', '"ts": 1712345678123456.5').replace('"ts": 9', '"ts": -9'),
    ],
)  # fmt: skip
def test_damage_and_what_one_piece_tells_of_all(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(content, "utf-8")
    expected = outcome(path)
    assert outcome(path, jobs=2) == expected
    assert expected["info"].path == str(path)


@pytest.mark.parametrize("seed", range(200 if SOAK else 25))
def test_random_damage(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)  # noqa: S311
    text = bytearray(gzip.decompress(EXAMPLE.read_bytes())[:150_000])
    for _ in range(drawn.choice((1, 3, 30))):
        at = drawn.randrange(len(text))
        text[at : at + drawn.choice((0, 1, 40))] = drawn.choice((b"", b"}", b'"', b"}, {", b"x"))
    path = tmp_path / "t.json"
    path.write_bytes(text)
    assert outcome(path, jobs=2) == outcome(path)


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced there")
@pytest.mark.parametrize("becomes", ["another", "cut off"])
def test_a_file_that_changes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, becomes: str
) -> None:
    """Workers open the file themselves: another one under its name is not read for it."""
    path, other = tmp_path / "t.json", tmp_path / "other.json"
    path.write_text(SOUND, "utf-8")
    other.write_text(SOUND.replace("op", "no"), "utf-8")
    expected, submit = outcome(path), Workers.submit

    def submit_later(self: Workers, *task: Any) -> Any:
        if becomes == "cut off":
            os.truncate(path, len(SOUND) // 2)
        elif other.exists():
            other.replace(path)
        return submit(self, *task)

    monkeypatch.setattr(Workers, "submit", submit_later)
    found = outcome(path, jobs=2)
    if becomes == "cut off":
        assert "the file is cut off after" in found["info"].warnings[-1]
    else:
        assert found == expected


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals of POSIX")
@pytest.mark.parametrize("killed", [1, 2])
def test_workers_that_are_killed(
    killed: int, monkeypatch: pytest.MonkeyPatch, done: list[bool]
) -> None:
    expected, submitted = all_of(read_trace(EXAMPLE)), []
    real = Workers.submit

    def submit(self: Workers, *task: Any) -> Any:
        submitted.append(task)
        if len(submitted) == 4:
            for pid in self.pids[:killed]:
                os.kill(pid, signal.SIGKILL)
        return real(self, *task)

    monkeypatch.setattr(Workers, "submit", submit)
    assert all_of(read_trace(EXAMPLE, jobs=2)) == expected
    assert not all(done)  # what was lost was read here


# Reads with two workers, whose pids it writes down, and ends itself in the middle.
_SCRIPT = """
import os, signal, sys
from pathlib import Path
from tidy.readers import chrome, container, event_text
from tidy.readers.workers import Workers
chrome.LARGE_NBYTES, container.BLOCK_NBYTES, event_text.PIECE_NBYTES = 1, 9_000, 10_000
submitted, real = [], Workers.submit

def submit(self, *task):
    submitted.append(task)
    if len(submitted) == 4:
        Path(sys.argv[-1]).write_text(" ".join(map(str, self.pids)))
        %s
    return real(self, *task)

if __name__ == "__main__":
    Workers.submit = submit
    pids = sys.argv[-1]
    from tidy.__main__ import main
    sys.argv = ["tidy", "report", "--jobs", "2", sys.argv[1], pids]
    main()
"""


@needs_proc
@pytest.mark.parametrize(
    ("how", "code", "said"),
    [*ENDINGS, ("raise KeyError('enough')", 2, "tidy: internal error: KeyError: 'enough'")],
)
def test_no_worker_outlives_the_command(tmp_path: Path, how: str, code: int, said: str) -> None:
    script, pids = tmp_path / "script.py", tmp_path / "pids"
    script.write_text(_SCRIPT % how, "utf-8")
    code_was, out, err = run_alone(script, EXAMPLE, pids)
    assert (code_was, out) == (code, "")
    assert err.startswith(said)
    assert len(err.splitlines()) == bool(said)
    workers = pids.read_text().split()
    assert len(workers) == 2
    wait_until_over(workers)


_FROM_STDIN = """
import sys
from tidy.readers import chrome, container, event_text, read_trace, workers
chrome.LARGE_NBYTES, container.BLOCK_NBYTES, event_text.PIECE_NBYTES = 1, 9_000, 10_000
done, finish = [], workers.Task.finish

def finished(self, *results):
    done.append(bool(results))
    finish(self, *results)

workers.Task.finish = finished
read_trace(sys.argv[1], jobs=2, method="spawn")
print(len(done) > 8 and all(done), __file__)
"""


def test_a_script_from_standard_input() -> None:
    """A new Python has no file to import it from."""
    done = subprocess.run(
        [sys.executable, "-", EXAMPLE],
        input=_FROM_STDIN,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=300,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("True <stdin>\n", "", 0)


def test_two_threads_read_at_a_time() -> None:
    paths = [EXAMPLE, EXAMPLE.with_name("train_half.json.gz")]
    expected = [all_of(read_trace(path)) for path in paths]
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lambda path: all_of(read_trace(path, jobs=2)), paths)) == expected


def test_what_the_command_line_says_is_what_is_read() -> None:
    assert all_of(tidy.load(EXAMPLE, jobs=2)) == all_of(tidy.load(EXAMPLE))
