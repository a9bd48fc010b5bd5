"""Correct programs have no hazards; where a wait is left out, the checker finds one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tidy.runtime as torch
from tidy.profiler import profile
from tidy.runtime import cuda
from tidy.runtime.modelled.activity import ActivityLog
from tidy.runtime.modelled.modelled_accelerator import accelerator

from .hazards import from_trace, hazards
from .recording import number_of, recording, slow

nn = torch.nn


@pytest.fixture
def without_waits() -> Iterator[None]:
    """The engine's waits are left out."""
    accelerator.drops_waits = True
    yield
    accelerator.drops_waits = False


def _work(start: int, end: int, reads: Any = (), writes: Any = ()) -> SimpleNamespace:
    return SimpleNamespace(start_ns=start, end_ns=end, reads=reads, writes=writes)


class TestChecker:
    @pytest.mark.parametrize(
        ("earlier", "later", "kind"),
        [
            (_work(0, 10, (), (1,)), _work(9, 20, (1,), (2,)), "read after write"),
            (_work(0, 10, (), (1,)), _work(5, 20, (), (1,)), "write after write"),
            (_work(0, 10, (1,), (2,)), _work(5, 20, (), (1,)), "write after read"),
            # The wrong way round.
            (_work(50, 60, (), (1,)), _work(5, 20, (1,)), "read after write"),
        ],
    )
    def test_finds(self, earlier: Any, later: Any, kind: str) -> None:
        (found,) = hazards([earlier, later])
        assert (found.kind, found.memory) == (kind, 1)
        assert found.earlier is earlier
        assert found.later is later

    @pytest.mark.parametrize(
        "records",
        [
            [_work(0, 10, (), (1,)), _work(10, 20, (1,), (2,))],
            [_work(0, 10, (1,), (2,)), _work(5, 20, (1,), (3,))],  # two that only read
            [_work(0, 10, (1,), (2,)), _work(5, 20, (3,), (4,))],
            [_work(0, 10, (1,), (1,)), _work(10, 20, (1,), (1,))],
        ],
    )
    def test_is_quiet(self, records: Any) -> None:
        assert hazards(records) == []

    def test_sees_past_the_last_writer(self) -> None:
        """A short write does not hide a longer one before it."""
        records = [_work(0, 99, (), (1,)), _work(10, 20, (), (1,)), _work(30, 40, (1,), ())]
        assert [h.kind for h in hazards(records)] == ["write after write", "read after write"]

        def event(ts: float, dur: float, number: int, **memory: Any) -> dict[str, Any]:
            args = {"correlation": number, **memory}
            return {"cat": "kernel", "name": f"k{number}", "ts": ts, "dur": dur, "args": args}

        late = event(10.0, 2.5, 1, Writes=[7])
        early = event(12.499, 1.0, 2, Reads=[7], Writes=[8])
        other = {"cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 1}
        (found,) = hazards(from_trace({"traceEvents": [early, other, late]}))
        assert (found.kind, found.earlier.name) == ("read after write", "k1")
        assert found.later.name == "k2"
        early["ts"] = 12.5
        assert hazards(from_trace({"traceEvents": [early, late]})) == []


def _found(program: Callable[[ActivityLog], Any]) -> list[Any]:
    """The hazards of a program. What it returns is kept: memory that is free is not a hazard."""
    with recording() as log:
        kept, found = program(log), hazards(log.work)
    del kept
    return found


def _two_streams(waits: bool) -> Callable[[ActivityLog], Any]:
    x, side = slow(), cuda.Stream()

    def program(log: ActivityLog) -> Any:
        y = x @ x
        if waits:
            side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            return y, y * 2

    return program


def test_two_streams(two_t4: None) -> None:
    assert _found(_two_streams(waits=True)) == []
    assert {h.kind for h in _found(_two_streams(waits=False))} == {"read after write"}


def test_written_while_it_is_read(two_t4: None) -> None:
    x, side = slow(), cuda.Stream()

    def program(log: ActivityLog) -> Any:
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            y = x @ x
        x.zero_()
        return y

    assert {h.kind for h in _found(program)} == {"write after read"}


def test_a_view_is_the_memory_of_its_base(two_t4: None) -> None:
    x, side, numbers = slow(), cuda.Stream(), []

    def program(log: ActivityLog) -> Any:
        y = x @ x
        numbers[:] = [number_of(y)]
        with cuda.stream(side):
            return y, y[3:5].t() + 1

    assert {h.memory for h in _found(program)} == set(numbers)


def test_a_copy_between_devices(two_t4: None) -> None:
    """It runs on the source's stream; the target's waits by itself, a third stream does not."""
    x, third, numbers = slow(), cuda.Stream("cuda:1"), []

    def program(log: ActivityLog, stream: Any = None) -> Any:
        y = (x @ x).to("cuda:1")
        numbers[:] = [number_of(y)]
        with cuda.stream(stream):
            return y, y + 1

    assert _found(program) == []
    assert {h.memory for h in _found(partial(program, stream=third))} == set(numbers)


def _training(steps: int = 3) -> list[Any]:
    """A model on two devices, each with streams of its own, with all waits there have to be."""
    first = nn.Linear(384, 384).double().to("cuda:0")
    second = nn.Linear(384, 8).double().to("cuda:1")
    params = [*first.parameters(), *second.parameters()]
    optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9, foreach=False)
    x, side = slow(), cuda.Stream("cuda:0")
    cuda.synchronize(0)
    cuda.synchronize(1)
    with recording() as log:
        for _ in range(steps):
            side.wait_stream(cuda.current_stream(0))
            with cuda.stream(side):
                h = first(x).relu()
                h = (h @ x + h).to("cuda:1")
            second(h).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    return hazards(log.work)


def test_the_caller_does_not_wait_if_told_so(two_t4: None, without_waits: None) -> None:
    side, numbers = cuda.Stream(), []

    def program(log: ActivityLog) -> Any:
        x = slow().requires_grad_()
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            out = (x @ slow()).sum()
        cuda.current_stream().wait_stream(side)
        out.backward()
        numbers[:] = [number_of(x.grad)]
        return x, x.grad * 2

    found = _found(program)
    assert set(numbers) <= {h.memory for h in found}


@pytest.mark.parametrize("waits", [True, False], ids=["with waits", "without the engine's"])
def test_training_and_its_trace(
    real_time: None, two_t4: None, waits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the devices logged, and the file of the training that was profiled, say the same."""
    monkeypatch.setattr(accelerator, "drops_waits", not waits)
    with profile(record_shapes=True) as prof:
        logged = _training()
    prof.export_chrome_trace(tmp_path / "trace.json")
    exported = hazards(from_trace(json.loads((tmp_path / "trace.json").read_text("utf-8"))))
    if waits:
        assert logged == exported == []
    else:
        assert logged
        assert "read after write" in {h.kind for h in exported}
