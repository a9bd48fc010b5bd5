"""What worker processes of loaders are seen at, in both frameworks."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tidy.run.child.worker_lines import LINES_FOLDER
from tidy.run.child.worker_rounds import measure_rounds
from tidy.run.worker_lines import read_worker_lines

from ..environment import SOAK
from .running import python, record, write_script

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGPROF"), reason="needs SIGPROF")

_FRAMEWORKS = [pytest.param("torch", marks=pytest.mark.oracle), "runtime"]
# Where nothing is looked at nothing depends on the framework.
_FRAMEWORKS_IF_NOTHING = _FRAMEWORKS if SOAK else _FRAMEWORKS[1:]

_DATA = """\
import signal
import zlib
import torch
from torch.utils.data import Dataset, IterableDataset

PACKED = zlib.compress(bytes(range(256)) * 20_000)

def pad(samples):
    rows = []
    for sample in samples:
        row = [0.0] * 4
        for number in range(40_000):
            row[number % 4] += sample % 7 + number  # the line
        rows.append(row)
    return torch.tensor(rows)

def collate(samples):
    return pad(samples)

def unpack(number):
    data = zlib.decompress(PACKED)  # the call
    return torch.tensor([float(data[number]), float(len(data)), 0.0, 1.0])

class Numbers(Dataset):
    def __len__(self):
        return 8 * 12

    def __getitem__(self, number):
        return number

class Packed(Numbers):
    def __getitem__(self, number):
        return unpack(number)

class TooLong(Exception):
    pass

def too_long(*_):
    raise TooLong

def count(is_endless):
    rounds = 0
    while rounds < 20_000 or is_endless:
        rounds += 1
    return rounds

class Limited(Numbers):
    # Gives up on each third item after 2 ms.

    def __len__(self):
        return 8 * 24

    def __getitem__(self, number):
        signal.signal(signal.SIGALRM, too_long)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.002 if number % 3 == 0 else 0)
            return torch.full((4,), float(count(number % 3 == 0)))
        except TooLong:
            return torch.full((4,), -1.0)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

class Stream(IterableDataset):
    def __iter__(self):
        for number in range(8 * 12):
            yield number
"""
_TRAIN = """\
import hashlib
import signal
import torch
from torch.utils.data import DataLoader
import data

def own(*_):
    raise SystemExit("a signal of another")

def use_signal(worker):
    signal.signal(signal.SIGPROF, own)

def train():
    weight = torch.ones(4, 1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1e-9)
    seen = hashlib.sha256()
    for epoch in range({epochs}):
        for batch in loader:
            seen.update(batch.numpy().tobytes())
            optimizer.zero_grad()
            (batch @ weight).sum().backward()
            optimizer.step()
    print(seen.hexdigest())

if __name__ == "__main__":
    loader = DataLoader({data}, batch_size=8{collate}{workers})
    train()
"""
_WORKERS = ", num_workers=2"
_LINE = 1 + next(n for n, line in enumerate(_DATA.splitlines()) if line.endswith("# the line"))
_CALL = 1 + next(n for n, line in enumerate(_DATA.splitlines()) if line.endswith("# the call"))


def _training(**form: Any) -> str:
    return _TRAIN.format(**{"epochs": 1, "collate": "", "workers": _WORKERS, **form})


def _functions(framework: str, folder: Path, **form: Any) -> dict[str, dict[str, Any]]:
    """What was seen, by function; of several iterators that of the first."""
    write_script(folder, _DATA, "data.py")
    script = write_script(folder, _training(**form))
    recorded = record("--framework", framework, script.name, cwd=folder)
    assert (recorded.code, recorded.err) == (0, "")
    if framework == "torch":  # what the script computes is the same without us, and without workers
        plain = write_script(folder, _training(**{**form, "workers": ""}), "plain.py")
        assert recorded.out.splitlines()[0] == python(plain, cwd=folder).out.strip()
    loader, *_ = recorded.trace.info.header["tidy_loader_workers"]["loaders"]
    assert loader.get("sampled_batches", 1) <= 24 * 3
    return {each["function"]: each for each in loader.get("functions", [])}


_COLLATES = ", collate_fn=data.collate"
_LOOPS = {
    "fork": ("data.Numbers()", ""),
    "stream": ("data.Stream()", ""),
    "spawn": ("data.Numbers()", ", multiprocessing_context='spawn'"),
    "persistent": ("data.Numbers()", ", persistent_workers=True"),
    "both": ("data.Numbers()", ", multiprocessing_context='spawn', persistent_workers=True"),
}


def _loops() -> Iterator[Any]:
    """PyTorch's are forked for the long calls below: all but the last are on it for `make soak`."""
    for name, loop in _LOOPS.items():
        if name != "both":
            yield pytest.param("runtime", *loop, id=f"{name}-runtime")
        if SOAK or name == "both":
            yield pytest.param("torch", *loop, marks=pytest.mark.oracle, id=f"{name}-torch")


@pytest.mark.parametrize(("framework", "source", "more"), list(_loops()))
def test_a_loop(framework: str, source: str, more: str, tmp_path: Path) -> None:
    """Its eight times 40,000 rounds a batch are counted until that is enough."""
    epochs = 2 if "persistent" in more else 1
    form = {"data": source, "collate": _COLLATES, "workers": _WORKERS + more, "epochs": epochs}
    functions = _functions(framework, tmp_path, **form)
    pad, collate = functions["pad"], functions["collate"]
    assert (pad["file"], pad["line"]) == ("data.py", _LINE)
    assert pad["calls"] == 1
    assert pad["runs"] > 1000
    assert collate["runs"] == 1
    assert 0.9 * collate["ns"] <= pad["ns"] <= collate["ns"]
    # A look may fall between the call of collate and that of pad.
    are_alike = pad["ns"] == collate["ns"]
    assert not are_alike or list(functions).index("pad") < list(functions).index("collate")
    assert pad["line_ns"] > 0.25 * pad["ns"]


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_long_calls(framework: str, tmp_path: Path) -> None:
    unpack = _functions(framework, tmp_path, data="data.Packed()")["unpack"]
    assert (unpack["line"], unpack["calls"], unpack["runs"]) == (_CALL, 8, 8)
    assert unpack["line_ns"] > 0.5 * unpack["ns"]


@pytest.mark.parametrize("framework", _FRAMEWORKS_IF_NOTHING)
def test_a_script_that_uses_the_signal_is_left_alone(framework: str, tmp_path: Path) -> None:
    form = {"collate": _COLLATES, "workers": f"{_WORKERS}, worker_init_fn=use_signal"}
    assert _functions(framework, tmp_path, data="data.Numbers()", **form) == {}


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_alarms_of_a_data_set_are_its_own(framework: str, tmp_path: Path) -> None:
    """With PyTorch the batches are compared with those of the training process itself."""
    functions = _functions(framework, tmp_path, data="data.Limited()")
    assert {"__getitem__", "count"} <= set(functions)


@pytest.mark.oracle
def test_an_exception_in_a_worker_has_the_same_traceback(tmp_path: Path) -> None:
    fails = "if samples[0] >= 64:\n        raise OSError(samples[0])\n    return pad(samples)"
    write_script(tmp_path, _DATA.replace("return pad(samples)", fails), "data.py")
    script = write_script(tmp_path, _training(data="data.Numbers()", collate=_COLLATES))
    plain, recorded = python(script, cwd=tmp_path), record(script, cwd=tmp_path)
    # Where the training process comes to know of it is a matter of chance.
    plain_trace, own_trace = (each.err.partition("Original ")[2] for each in (plain, recorded))
    assert "OSError: 64" in plain_trace
    assert (recorded.code, own_trace) == (plain.code, plain_trace)


@pytest.mark.parametrize("framework", _FRAMEWORKS_IF_NOTHING)
def test_without_stacks_nothing_is_looked_at(framework: str, tmp_path: Path) -> None:
    write_script(tmp_path, _DATA, "data.py")
    script = write_script(tmp_path, _training(data="data.Packed()"))
    recorded = record("--framework", framework, "--no-stack", script.name, cwd=tmp_path)
    (loader,) = recorded.trace.info.header["tidy_loader_workers"]["loaders"]
    assert "functions" not in loader


def _in_one_line(numbers: range) -> list[int]:
    return [abs(number) for number in numbers]


def _generated(numbers: range) -> int:
    return sum(abs(number) for number in numbers)


def _over_lines(numbers: range) -> int:
    total = 0
    for number in numbers:
        total += number
    return total


@pytest.mark.parametrize("function", [_in_one_line, _generated, _over_lines])
def test_rounds_of_loops(function: Any) -> None:
    code = function.__code__
    measured = measure_rounds([(code, code.co_firstlineno + 1)])
    if measured is None:
        pytest.skip("somebody traces these tests")
    function(range(100))
    function(range(100))
    ((found, calls, line, runs, part),) = measured.stop()
    assert (found, calls) == (code, 2)
    assert code.co_firstlineno < line < code.co_firstlineno + 4
    assert 198 <= runs <= 204
    assert 0 < part <= 1
    assert sys.gettrace() is None


def test_what_is_not_whole_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / LINES_FOLDER
    folder.mkdir()
    whole = [
        (0, 9_000_000, [("/x/a.py", "first", 1, 2, 9_000_000)], []),
        (
            1,
            5_000_000,
            [("/x/a.py", "pad", 9, 13, 5_000_000)],
            [("/x/a.py", "pad", 9, 1, 14, 7, 0.5)],
        ),
        (2, 5_000_000, [("/x/a.py", "<lambda>", 9, 9, 5_000_000)], []),
    ]
    text = "\n".join(map(repr, whole)) + "\n(3, 5_000_000, [('/x/a"
    (folder / "77").write_text(text, "utf-8")
    (folder / "78").write_text("", "utf-8")
    (folder / "79").write_text(f"{whole[0]!r}\n", "utf-8")
    (folder / "other").write_text("(1, 2, 3)\n", "utf-8")
    found = read_worker_lines(tmp_path, lambda file: file.removeprefix("/x/"))
    assert sorted(found) == [77, 79]
    (pad,) = found[77].functions
    assert pad == ("a.py", "pad", 9, 14, 5_000_000, 2_500_000, 1, 7)
    assert (found[77].sampled_ns, found[77].batch_count) == (10_000_000, 2)
    assert found[79].functions[0].function == "first"  # of the only batch that there is
