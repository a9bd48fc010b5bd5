"""What makes the host wait for a device, and what does not. All times are modelled ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import tidy.runtime as torch
from tidy.runtime import cuda
from tidy.runtime.modelled import clock

from ..runtime.tables import calls
from .recording import kernels, long, recording

pytestmark = pytest.mark.usefixtures("two_t4")


def _busy() -> tuple[Any, Any]:
    """A tensor that is being computed, and the log in which that stands."""
    x = long()
    x @ x
    cuda.synchronize()
    with recording() as log:
        y = x @ x
    return y, log


def _done_ns(log: Any) -> int:
    return max(w.end_ns for w in kernels(log))


def test_a_launch_takes_the_time_of_a_launch() -> None:
    _, log = _busy()
    calls = [c for c in log.calls if c.name == "cudaLaunchKernel"]
    assert len(calls) == len(kernels(log))
    spec = cuda.current_stream().owner.spec
    assert [c.end_ns - c.start_ns for c in calls] == [spec.launch_ns] * len(calls)
    assert calls[-1].end_ns < _done_ns(log)
    for call, work in zip(calls, kernels(log), strict=True):
        assert call.correlation == work.correlation
        assert work.start_ns >= call.end_ns


# `y` is being computed.
WAITS = calls("""
y[0, 0].item(); float(y[0, 0]); bool(y[0, 0]); int(y[0, 0]); y[0].tolist(); y.cpu(); y.to('cpu')
y.numpy(force=True); repr(y); y.nonzero(); y[y > 3]; y.masked_select(y > 3)
torch.empty(512, 512, dtype=torch.float64).copy_(y); y.isfinite().all().item()
y.copy_(torch.zeros(512, 512, dtype=torch.float64)); 1 if (y > 0).all() else 2
cuda.synchronize(); cuda.current_stream().synchronize()
""")
GOES_ON = calls("""
(y * 2).sum(); y[3:5].t().reshape(-1); (y.shape, y.numel(), y.dtype, y.device, y.stride())
y.add_(1); torch.where(y > 3, y, 0.0); y.masked_fill(y > 3, 0.0)
y[torch.arange(3, device='cuda')]; y.to('cuda:1'); y.clone(); torch.zeros_like(y)
cuda.Event().record(); torch.ones(3, device='cuda:1').sum().item()
""")


@pytest.mark.parametrize("code", WAITS)
def test_waits(code: str) -> None:
    y, log = _busy()
    with recording() as waiting:
        eval(code, {"y": y, "torch": torch, "cuda": cuda})  # noqa: S307
    done = _done_ns(log)
    assert clock.now_ns() >= done
    assert [c.end_ns for c in waiting.calls if "Synchronize" in c.name and c.end_ns >= done]


@pytest.mark.parametrize("code", GOES_ON)
def test_goes_on(code: str) -> None:
    y, log = _busy()
    eval(code, {"y": y, "torch": torch, "cuda": cuda})  # noqa: S307
    assert clock.now_ns() < _done_ns(log)


def _host() -> Any:
    return torch.ones(1 << 20)


# What is copied, where to and how; what that is called, and whether the host goes on meanwhile.
COPIES: dict[str, tuple[Callable[[], Any], str, bool, str, bool]] = {
    "pageable": (_host, "cuda", True, "HtoD (Pageable -> Device)", False),
    "small": (lambda: torch.ones(16 << 10), "cuda", True, "HtoD (Pageable -> Device)", True),
    "pinned": (lambda: _host().pin_memory(), "cuda", True, "HtoD (Pinned -> Device)", True),
    "blocking": (lambda: _host().pin_memory(), "cuda", False, "HtoD (Pinned -> Device)", False),
    "to the host": (lambda: _host().cuda(), "cpu", True, "DtoH (Device -> Pinned)", True),
}


class TestCopies:
    @pytest.mark.parametrize("name", COPIES)
    def test_the_host_goes_on_or_waits(self, name: str) -> None:
        """Pageable memory the driver reads first, whatever it is asked, but for up to 64 KiB.

        To the host PyTorch gives pinned memory, if it is asked not to block.
        """
        make, target, non_blocking, called, goes_on = COPIES[name]
        x = make()
        with recording() as log:
            y = x.to(target, non_blocking=non_blocking)
        (copy,) = [w for w in log.work if w.kind == "gpu_memcpy"]
        waits = [c for c in log.calls if "Synchronize" in c.name]
        assert (copy.name, copy.nbytes) == (f"Memcpy {called}", x.nbytes)
        assert (max(c.end_ns for c in log.calls) < copy.end_ns) == goes_on
        assert not (goes_on and waits)
        assert [c.name for c in waits] == ["cudaStreamSynchronize"] * (name == "blocking")
        assert y.is_pinned() == (target == "cpu")

    def test_each_direction_is_an_engine(self) -> None:
        """Each has an engine of its own, beside the kernels'."""
        x = torch.ones(1 << 20).pin_memory()
        y, up, down = torch.ones(1 << 20, device="cuda"), cuda.Stream(), cuda.Stream()
        there = torch.empty(1 << 20, device="cuda")
        back = torch.empty(1 << 20).pin_memory()
        cuda.synchronize()
        for _ in range(3):
            with recording() as log:
                with cuda.stream(up):
                    there.copy_(x, non_blocking=True)
                with cuda.stream(down):
                    back.copy_(y, non_blocking=True)
            cuda.synchronize()
        first, second = (w for w in log.work if w.kind == "gpu_memcpy")
        assert second.start_ns < first.end_ns
        a, b = cuda.Stream(), cuda.Stream()
        with recording() as log:
            for stream in (a, b):
                with cuda.stream(stream):
                    x.to("cuda", non_blocking=True)
        first, second = (w for w in log.work if w.kind == "gpu_memcpy")
        assert second.start_ns >= first.end_ns


def test_all_threads_have_one_clock() -> None:
    """Another thread sees the wait that this one has made, and has streams of its own."""
    y, log = _busy()
    seen: list[Any] = []

    def look() -> None:
        seen.extend([cuda.current_stream() == cuda.default_stream(), y.sum().item()])

    with cuda.stream(cuda.Stream()):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [True, 512.0**3]
    assert clock.now_ns() >= _done_ns(log)


def test_time_stands_while_others_take_theirs(real_time: None) -> None:
    """What counts inside of a stretch, or on another thread beside it, never sets its time back."""

    def take(cost_ns: int) -> int:
        begin = time.perf_counter_ns()
        time.sleep(0.05)
        clock.count(begin, time.perf_counter_ns(), cost_ns)
        return clock.now_ns()

    with clock.stretch:
        before = clock.now_ns()
        inside = take(300)
        thread = threading.Thread(target=take, args=(500,))
        thread.start()
        thread.join()
        beside = clock.now_ns()
    assert inside == before + 300
    assert beside >= inside + 500
    assert clock.now_ns() >= beside


def test_times_of_a_log_go_up() -> None:
    with recording() as log:
        x = long(256)
        for _ in range(3):
            x = (x @ x).tanh()
        x.sum().item()
    starts = [c.start_ns for c in log.calls]
    assert starts == sorted(starts)
    assert len(log.work) >= 3 * 2 + 2  # products, tanh, a sum and a copy
    assert all(c.start_ns <= c.end_ns for c in log.calls)
    assert all(w.start_ns <= w.end_ns for w in log.work)
    assert log.turns == sorted(log.turns)


@pytest.mark.parametrize("value", ["", "0", "1"])
def test_launches_that_block(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", value)
    _, log = _busy()
    done_ns = {each.correlation: each.end_ns for each in kernels(log)}
    calls = [each for each in log.calls if each.name == "cudaLaunchKernel"]
    assert calls
    assert {each.end_ns >= done_ns[each.correlation] for each in calls} == {value == "1"}
