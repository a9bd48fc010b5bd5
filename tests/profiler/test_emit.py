"""emit_nvtx and emit_itt: what they push, in PyTorch's text form."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import tidy
import tidy.runtime as torch
from tidy.errors import TidyError
from tidy.profiler.emit import emit_itt, emit_nvtx

from ..readers.sqlite_files import NsysFile

# The packages' part: they hand the text to a tool that may be attached. These write it down.
_NVTX = """
import threading
log = []

def push_range(message):
    log.append((threading.get_ident(), message))

def pop_range():
    log.append((threading.get_ident(), None))
"""
_ITT = """
import threading
log = []

class Domain:
    def __init__(self, name): self.name = name

class Handle:
    def __init__(self, text): self.text = text

domain, string_handle = Domain, Handle

def task_begin(domain, handle):
    assert domain.name == "tidy"
    log.append((threading.get_ident(), handle.text))

def task_end(domain):
    log.append((threading.get_ident(), None))
"""
Log = list[tuple[int, str | None]]
Attach = Callable[[str, str], Log]


@pytest.fixture
def attach(monkeypatch: pytest.MonkeyPatch) -> Attach:
    """Put a module of this source in the place of a package; gives its log."""

    def install(name: str, source: str) -> Log:
        module = ModuleType(name)
        exec(source, vars(module))  # noqa: S102
        monkeypatch.setitem(sys.modules, name, module)
        log: Log = vars(module)["log"]
        return log

    return install


@pytest.fixture
def nvtx_log(attach: Attach) -> Log:
    return attach("nvtx", _NVTX)


def _texts(log: Log) -> list[str]:
    return [text for _, text in log if text is not None]


def _nested(log: Log) -> list[str]:
    """The texts, two spaces a level."""
    lines, depth = [], 0
    for _, text in log:
        if text is not None:
            lines.append("  " * depth + text)
        depth += 1 if text is not None else -1
        assert depth >= 0
    assert depth == 0
    return lines


def _numbers(log: Log, pattern: str) -> list[int]:
    found = (re.search(pattern, text) for text in _texts(log))
    return [int(match[1]) for match in found if match]


def test_forward_and_backward(nvtx_log: Log) -> None:
    x = torch.ones(2, 3, requires_grad=True)
    with emit_nvtx():
        (x * x).sum().backward()
    first = _numbers(nvtx_log, r"^aten::mul, seq = (\d+)$")[0]
    assert _nested(nvtx_log)[:4] == [
        f"aten::mul, seq = {first}",
        f"aten::sum, seq = {first + 1}",
        "autograd::engine::evaluate_function: SumBackward0",
        f"  SumBackward0, stashed seq = {first + 1}",
    ]
    assert f"MulBackward0, stashed seq = {first}" in _texts(nvtx_log)
    inside = nvtx_log[nvtx_log.index((threading.get_ident(), _texts(nvtx_log)[2])) :]
    assert not _numbers(inside, r", seq = (\d+)")  # nothing is differentiated again


def test_double_backward(nvtx_log: Log) -> None:
    """Each number stashed was pushed before by what made the node, once for each backward."""
    x = torch.ones(3, requires_grad=True)
    with emit_nvtx():
        (gradient,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
        forward = len(nvtx_log)
        gradient.sum().backward()
    first, second = nvtx_log[:forward], nvtx_log[forward:]
    made = _numbers(first, r"^aten::\w+, seq = (\d+)")
    stashed = _numbers(first, r"stashed seq = (\d+)")
    again = _numbers(second, r"stashed seq = (\d+)")
    assert len(stashed) == 3
    assert set(stashed) <= set(made)
    in_backward = set(made) - set(made[:3])
    assert in_backward & set(again)  # nodes that the first backward made
    assert set(again) <= {*made, *_numbers(second, r"^aten::\w+, seq = (\d+)")}


def test_shapes(nvtx_log: Log) -> None:
    x, w = torch.ones(2, 3), torch.ones(3, 4)
    with emit_nvtx(record_shapes=True):
        torch.cat([x @ w, x @ w], 1)
        x.sum()
    texts = _texts(nvtx_log)
    assert "aten::mm, sizes = [[2, 3], [3, 4]]" in texts
    assert any(text.startswith("aten::cat, sizes = [[2, 4], [2, 4]") for text in texts)
    assert any(text.startswith("aten::sum, sizes = [[2, 3]") for text in texts)


def test_ranges_of_the_user(nvtx_log: Log) -> None:
    with emit_nvtx(record_shapes=True), torch.record_function("epoch", "7"):
        torch.ones(2)
    lines = _nested(nvtx_log)
    assert lines[0] == "epoch"
    assert lines[1].startswith("  aten::ones")


def test_an_error_closes_its_ranges(nvtx_log: Log) -> None:
    with pytest.raises(RuntimeError), emit_nvtx():
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert _nested(nvtx_log)
    before = len(nvtx_log)
    torch.ones(2)
    assert len(nvtx_log) == before


def test_not_reentrant(nvtx_log: Log) -> None:
    emit = emit_nvtx()
    with emit:
        for inner in (emit, emit_nvtx()):
            with pytest.raises(RuntimeError, match="NVTX annotation context manager is not reent"):
                inner.__enter__()
        torch.ones(2)
    assert len(_texts(nvtx_log)) == len(set(_texts(nvtx_log)))
    with emit:  # one after the other is no nesting
        torch.ones(2)


def test_disabled(monkeypatch: pytest.MonkeyPatch, nvtx_log: Log) -> None:
    with emit_nvtx(), emit_nvtx(enabled=False):
        torch.ones(2)
    assert nvtx_log
    monkeypatch.setitem(sys.modules, "nvtx", None)
    with emit_nvtx(enabled=False):
        torch.ones(2)


def test_other_threads_are_left_alone(nvtx_log: Log) -> None:
    with emit_nvtx():
        thread = threading.Thread(target=lambda: torch.ones(2))
        thread.start()
        thread.join()
    assert nvtx_log == []


def test_itt(attach: Attach) -> None:
    log = attach("ittapi", _ITT)
    x = torch.ones(2, requires_grad=True)
    with emit_itt(record_shapes=True):
        (x * x).sum().backward()
        with pytest.raises(RuntimeError, match="ITT annotation context manager is not reentrant"):
            emit_itt().__enter__()
    (seq,) = _numbers(log, r"^aten::mul, seq = (\d+), sizes = \[\[2\], \[2\]\]$")
    assert any(t.startswith(f"MulBackward0, stashed seq = {seq}, sizes = ") for t in _texts(log))
    _nested(log)


@pytest.mark.parametrize(
    ("emit", "package", "extra"), [(emit_nvtx, "nvtx", "nvtx"), (emit_itt, "ittapi", "itt")]
)
def test_without_the_package(
    emit: type[emit_nvtx], package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError) as caught:
        emit().__enter__()
    assert isinstance(caught.value, TidyError)
    assert f"pip install 'torchtidy[{extra}]'" in str(caught.value)
    torch.ones(2)  # nothing was left behind


@pytest.mark.parametrize(
    ("emit", "package", "begin", "end"),
    [
        (emit_nvtx, "nvtx", "push_range", "pop_range"),
        (emit_itt, "ittapi", "task_begin", "task_end"),
    ],
)
def test_the_real_packages(
    emit: type[emit_nvtx],
    package: str,
    begin: str,
    end: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They do nothing without a tool that listens; but they take what they are given."""
    module = pytest.importorskip(package)
    taken: list[str] = []

    def noted(name: str) -> Callable[..., object]:
        real = getattr(module, name)
        return lambda *args: (real(*args), taken.append(name))

    for name in (begin, end):
        monkeypatch.setattr(module, name, noted(name))
    x = torch.ones(2, requires_grad=True)
    with emit(record_shapes=True):
        (x * x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]
    # mul, sum, and for each of the three nodes what evaluates it and the node, at the least.
    assert taken.count(begin) == taken.count(end) >= 8


def test_what_is_pushed_can_be_read(nvtx_log: Log, tmp_path: Path) -> None:
    """From the runtime through a database to a trace with shapes and forward links."""
    x, w = torch.ones(2, 3, requires_grad=True), torch.ones(3, 4, requires_grad=True)
    optimizer = torch.optim.SGD([x, w], lr=0.1)
    with emit_nvtx(record_shapes=True):
        (x @ w).relu().sum().backward()
        optimizer.step()
    with NsysFile(tmp_path / "emitted.sqlite") as file:
        stack: list[tuple[str, int]] = []
        for at, (_, text) in enumerate(nvtx_log):
            if text is None:
                file.range(*stack.pop(), 10 * at + 5)
            else:
                stack.append((text, 10 * at))
    trace = tidy.load(tmp_path / "emitted.sqlite")
    trace.self_check()
    linked = {op.name: op.forward.name for op in trace.dfs() if op.forward is not None}
    assert linked == {
        "MmBackward0": "aten::mm",
        "ReluBackward0": "aten::relu",
        "SumBackward0": "aten::sum",
    }
    product = trace.named("aten::mm")[0]
    assert product.input_shapes == ((2, 3), (3, 4))
    assert len(trace.steps) == 1
