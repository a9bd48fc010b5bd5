"""Correct programs have no hazards; where a wait is left out, the checker finds one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tidy.runtime as torch
from tidy.profiler import profile
from tidy.runtime import cuda

from .hazards import from_trace, hazards
from .recording import number_of, recording, slow

nn = torch.nn


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


def _read_elsewhere(x: Any, side: Any) -> Any:
    y = x @ x
    with cuda.stream(side):
        return y, y * 2


def _view_read_elsewhere(x: Any, side: Any) -> Any:
    y = x @ x
    with cuda.stream(side):
        return y, y[3:5].t() + 1


def _copy_read_elsewhere(x: Any, _: Any) -> Any:
    """A copy runs on the source's stream; the target's waits by itself, a third stream does not."""
    y = (x @ x).to("cuda:1")
    with cuda.stream(cuda.Stream("cuda:1")):
        return y, y + 1


def _written_while_read(x: Any, side: Any) -> Any:
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        y = x @ x
    x.zero_()
    return x, y


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        (_read_elsewhere, "read after write"),
        (_view_read_elsewhere, "read after write"),
        (_copy_read_elsewhere, "read after write"),
        (_written_while_read, "write after read"),
    ],
)
def test_a_wait_that_is_left_out_is_a_hazard(
    two_t4: None, program: Callable[[Any, Any], Any], kind: str
) -> None:
    """Of the memory that the first of the two results has; a view's is its base's."""
    x, side = slow(), cuda.Stream()
    with recording() as log:
        kept = program(x, side)  # memory that is free is not a hazard
    found = hazards(log.work)
    assert {(h.kind, h.memory) for h in found} == {(kind, number_of(kept[0]))}


def test_training_on_two_devices_and_its_trace(
    real_time: None, two_t4: None, tmp_path: Path
) -> None:
    """All waits are there; the profiled file has the memory that the devices logged."""
    first = nn.Linear(384, 384).double().to("cuda:0")
    second = nn.Linear(384, 8).double().to("cuda:1")
    params = [*first.parameters(), *second.parameters()]
    optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9, foreach=False)
    x, side = slow(), cuda.Stream("cuda:0")
    cuda.synchronize(0)
    cuda.synchronize(1)
    with profile(record_shapes=True) as prof, recording() as log:
        for _ in range(3):
            side.wait_stream(cuda.current_stream(0))
            with cuda.stream(side):
                h = first(x).relu()
                h = (h @ x + h).to("cuda:1")
            second(h).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    prof.export_chrome_trace(tmp_path / "trace.json")
    exported = from_trace(json.loads((tmp_path / "trace.json").read_text("utf-8")))
    logged = [w for w in log.work if w.kind != "cuda_sync"]
    assert hazards(logged) == hazards(exported) == []
    touched = [[(w.name, w.reads, w.writes) for w in each] for each in (logged, exported)]
    assert touched[0] == touched[1]
    assert any(w.reads for w in exported)
