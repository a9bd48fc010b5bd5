"""Streams, events, and the host's clock: all times are modelled ones."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import tidy.runtime as torch
from tidy.runtime import cuda
from tidy.runtime.modelled import clock

from ..runtime.tables import calls
from .recording import kernels, long, place_of, recording, slow

pytestmark = pytest.mark.usefixtures("two_t4")
Stream, Event = cuda.Stream, cuda.Event
NO_SUCH_DEVICE = calls("""
cuda.Stream('cuda:2'); cuda.Stream(5); cuda.set_device(2); cuda.device(2)
cuda.synchronize('cuda:7'); cuda.current_stream(2); torch.ones(1, device='cuda:2')
torch.ones(1).to('cuda:2'); torch.ones(1).cuda(2)
""")


class TestCurrent:
    def test_work_goes_there(self) -> None:
        assert cuda.current_stream() == cuda.default_stream()
        with recording() as log:
            torch.ones(3, device="cuda") + 1
            torch.ones(3, device="cuda:1") + 1
        assert {place_of(w) for w in log.work} == {(0, 7), (1, 7)}
        side, x = Stream(), slow()
        with recording() as log, cuda.stream(side):
            x + 1
        (work,) = kernels(log)
        assert place_of(work) == (0, side.number)

    def test_a_context_nests_and_restores(self) -> None:
        default, first, second = cuda.default_stream(), Stream(), Stream()
        with cuda.stream(first):
            assert cuda.current_stream() == first
            with cuda.stream(second):
                assert cuda.current_stream() == second
                with cuda.stream(None):
                    assert cuda.current_stream() == second
            assert cuda.current_stream() == first
        assert cuda.current_stream() == default
        with pytest.raises(ZeroDivisionError), cuda.stream(first):
            raise ZeroDivisionError
        assert cuda.current_stream() == default
        context = cuda.stream(first)
        with context, context:
            assert cuda.current_stream() == first
        assert cuda.current_stream() == cuda.default_stream()

    def test_a_stream_of_another_device(self) -> None:
        """Its device is the current one inside; the other devices' streams stay what they are."""
        here, there = Stream(0), Stream("cuda:1")
        assert there.device == torch.device("cuda", 1)
        with cuda.stream(here), cuda.stream(there):
            assert (cuda.current_device(), cuda.current_stream()) == (1, there)
            assert cuda.current_stream(0) == here
            assert torch.ones(1, device="cuda").device == torch.device("cuda:1")
        assert cuda.current_device() == 0
        side = Stream("cuda:1")
        cuda.set_stream(side)
        assert cuda.current_stream("cuda:1") == side
        cuda.set_stream(cuda.default_stream(0))
        assert cuda.current_device() == 0

    def test_device_contexts(self) -> None:
        with cuda.device(1):
            assert (cuda.current_device(), torch.zeros(1).cuda().device.index) == (1, 1)
            with cuda.device("cuda:0"):
                assert cuda.current_device() == 0
            with cuda.device(None):
                assert cuda.current_device() == 1
        assert cuda.current_device() == 0

    @pytest.mark.parametrize("wanted", [1, "cuda:1", torch.device("cuda:1")])
    def test_set_device(self, wanted: Any) -> None:
        cuda.set_device(wanted)
        assert cuda.current_device() == 1
        assert torch.ones(1, device="cuda").get_device() == 1

    @pytest.mark.parametrize("code", NO_SUCH_DEVICE)
    def test_no_such_device(self, code: str) -> None:
        with pytest.raises(RuntimeError, match=r"^CUDA error: invalid device ordinal[^\n]*$"):
            eval(code, {"cuda": cuda, "torch": torch})  # noqa: S307

    def test_equality(self) -> None:
        first, second = Stream(), Stream()
        assert first != second
        with cuda.stream(first):
            assert cuda.current_stream() == first
            assert hash(cuda.current_stream()) == hash(first)
        assert len({first, second, cuda.current_stream(), cuda.default_stream()}) == 3
        assert Stream("cuda:1") != Stream("cuda:0")
        assert f"{first.cuda_stream:#x}" in repr(first)


class TestOrder:
    def test_one_stream_is_a_queue_and_two_run_beside_each_other(self) -> None:
        x = slow()
        with recording() as log:
            for _ in range(4):
                x = x @ x
        done = kernels(log)
        assert len(done) == 4
        assert all(a.end_ns <= b.start_ns for a, b in pairwise(done))
        x, side = long(512), Stream()
        x @ x
        with recording() as log:
            small = torch.ones(64, 64, dtype=torch.float64, device="cuda")
            cuda.synchronize()
            x @ x
            with cuda.stream(side):
                small + 1
        first, second = kernels(log, "gemm")[0], kernels(log)[-1]
        assert second.start_ns < first.end_ns

    @pytest.mark.parametrize("how", ["wait_stream", "wait_event", "event.wait"])
    def test_waits(self, how: str) -> None:
        x, side = long(), Stream()
        with recording() as log:
            y = x @ x
            if how == "wait_stream":
                side.wait_stream(cuda.current_stream())
            elif how == "wait_event":
                side.wait_event(cuda.current_stream().record_event())
            else:
                event = Event()
                event.record()
                event.wait(side)
            with cuda.stream(side):
                y.sum()
        product, total = kernels(log)[0], kernels(log)[-1]
        assert total.start_ns >= product.end_ns

    def test_an_event_covers_what_came_before_it(self) -> None:
        x, side, event = long(), Stream(), Event()
        cuda.synchronize()
        with recording() as log:
            event.record()
            x @ x
            side.wait_event(event)
            with cuda.stream(side):
                torch.ones(4, device="cuda") + 1
        assert kernels(log)[-1].end_ns < kernels(log, "gemm")[-1].end_ns
        x, event = long(), Event()
        with recording() as log:
            x @ x
            event.record()
            there = cuda.current_stream("cuda:1")
            there.wait_event(event)
            torch.ones(4, device="cuda:1") + 1
        assert kernels(log)[-1].device == 1
        assert kernels(log)[-1].start_ns >= kernels(log, "gemm")[-1].end_ns

    def test_a_recorded_event_can_be_recorded_again(self) -> None:
        x, event, other = long(), Event(), Stream()
        event.record()
        event.synchronize()
        assert event.query()
        x @ x
        event.record()
        assert not event.query()
        other.wait_event(event)
        assert not other.query()
        event, side = Event(), Stream()
        assert event.query()
        side.wait_event(event)
        event.synchronize()
        assert side.query()


class TestQueries:
    def test_before_and_after(self) -> None:
        x, event = long(), Event()
        cuda.synchronize()
        assert cuda.current_stream().query()
        x @ x
        event.record()
        assert not cuda.current_stream().query()
        assert not event.query()
        assert cuda.current_stream("cuda:1").query()
        event.synchronize()
        assert event.query()
        assert cuda.current_stream().query()
        x @ x
        cuda.synchronize("cuda:1")
        assert not cuda.current_stream().query()
        cuda.synchronize(0)
        assert cuda.current_stream().query()

    @pytest.mark.parametrize("how", ["stream", "device", "event"])
    def test_the_host_waits(self, how: str) -> None:
        x = long()
        with recording() as log:
            x @ x
            event = cuda.current_stream().record_event()
            {
                "stream": cuda.current_stream().synchronize,
                "device": cuda.synchronize,
                "event": event.synchronize,
            }[how]()
            now = clock.now_ns()
        done = max(w.end_ns for w in kernels(log))
        assert now >= done
        calls = {"stream": "Stream", "device": "Device", "event": "Event"}
        (call,) = [c for c in log.calls if c.name == f"cuda{calls[how]}Synchronize"]
        assert call.end_ns == done
        (sync,) = [w for w in log.work if w.kind == "cuda_sync"]
        assert sync.correlation == call.correlation


class TestElapsed:
    def test_is_the_time_between(self) -> None:
        x, start, end = long(), Event(enable_timing=True), Event(enable_timing=True)
        x @ x  # the stream is busy: what comes next follows at once
        with recording() as log:
            start.record()
            x @ x
            end.record()
        end.synchronize()
        work = kernels(log)
        span = (work[-1].end_ns - work[0].start_ns) / 1e6
        assert start.elapsed_time(end) == pytest.approx(span, abs=1e-9)
        assert end.elapsed_time(start) == -start.elapsed_time(end)
        start.record()
        end.record()
        end.synchronize()
        assert 0 <= start.elapsed_time(end) < 0.05  # ms: the host's two calls

    def test_needs_two_times(self) -> None:
        """What is not recorded, has not happened, or was recorded without timing has none."""
        start, end = Event(enable_timing=True), Event(enable_timing=True)
        start.record()
        with pytest.raises(RuntimeError, match="must be recorded before calculating"):
            start.elapsed_time(end)
        x = long()
        x @ x
        end.record()
        with pytest.raises(RuntimeError, match="must be completed before calculating"):
            start.elapsed_time(end)
        untimed = Event()
        untimed.record()
        with pytest.raises(ValueError, match="enable_timing=True"):
            untimed.elapsed_time(end)
