"""A device for tests: it computes nothing, and takes the times that it is told."""

from __future__ import annotations

import itertools
import threading
import time
from importlib import import_module
from pkgutil import walk_packages
from types import SimpleNamespace
from typing import Any

import pytest

import tidy.runtime as rt
from tidy.runtime import modelled
from tidy.runtime.modelled import activity, clock, modelled_device
from tidy.runtime.modelled.activity import DeviceMemory, DeviceWork, RuntimeCall

PROPERTIES = {
    "name": "NVIDIA A100-SXM4-40GB",
    "totalGlobalMem": 42297524224,
    "computeMajor": 8,
    "computeMinor": 0,
    "maxThreadsPerBlock": 1024,
    "warpSize": 32,
    "numSms": 108,
}
KERNEL = {"grid": [4, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 12}
_correlations = itertools.count(1000)


class ModelledDevice:
    """Device 0 with as many streams as are asked for; each does one thing after another."""

    def __init__(self) -> None:
        self.free_ns: dict[int, int] = {}

    def call(self, name: str, real_ns: int = 0, cost_ns: int = 5000) -> RuntimeCall:
        """A call that really takes `real_ns`, and `cost_ns` in the model."""
        begin = end = time.perf_counter_ns()
        while end < begin + real_ns:
            end = time.perf_counter_ns()
        done = clock.count(begin, end, cost_ns)
        made = RuntimeCall(name, done - cost_ns, done, threading.get_ident(), next(_correlations))
        for log in activity.logs:
            log.calls.append(made)
        return made

    def work(
        self, call: RuntimeCall, kind: str, name: str, lasts_ns: int, stream: int = 7, **more: Any
    ) -> DeviceWork:
        """What a call launched: it begins when the stream is free."""
        start = max(call.end_ns, self.free_ns.get(stream, 0))
        self.free_ns[stream] = start + lasts_ns
        made = DeviceWork(kind, name, start, start + lasts_ns, 0, stream, call.correlation, **more)
        for log in activity.logs:
            log.work.append(made)
        return made

    def launch(self, name: str = "a_kernel", lasts_ns: int = 20_000, real_ns: int = 0) -> None:
        call = self.call("cudaLaunchKernel", real_ns)
        self.work(call, "kernel", name, lasts_ns, args=KERNEL, reads=(1, 2), writes=(3,))

    def copy(self, nbytes: int, lasts_ns: int = 10_000) -> None:
        call = self.call("cudaMemcpyAsync")
        name = "Memcpy HtoD (Pageable -> Device)"
        self.work(call, "gpu_memcpy", name, lasts_ns, nbytes=nbytes, writes=(4,))

    def fill(self, nbytes: int) -> None:
        call = self.call("cudaMemsetAsync")
        self.work(call, "gpu_memset", "Memset (Device)", 2000, nbytes=nbytes)

    def synchronize(self, stream: int = 7) -> None:
        """The host waits for a stream, or for all of them where it is -1."""
        what, kind = ("Stream", "Stream") if stream >= 0 else ("Device", "Context")
        begin = clock.now_ns()
        clock.wait_until(self.free_ns.get(stream, max(self.free_ns.values())))
        end = clock.now_ns()
        number = next(_correlations)
        call = RuntimeCall(f"cuda{what}Synchronize", begin, end, threading.get_ident(), number)
        name = f"{kind} Sync"
        args = {"cuda_sync_kind": name}
        sync = DeviceWork("cuda_sync", name, begin, end, 0, stream, number, args=args)
        for log in activity.logs:
            log.calls.append(call)
            log.work.append(sync)

    def wait_for(self, record: RuntimeCall, stream: int) -> None:
        """A stream waits for an event that was recorded on stream 7."""
        args = {
            "cuda_sync_kind": "Stream Wait Event",
            "wait_on_stream": 7,
            "wait_on_cuda_event_record_corr_id": record.correlation,
            "wait_on_cuda_event_id": 1,
        }
        call = self.call("cudaStreamWaitEvent")
        self.work(call, "cuda_sync", "Stream Wait Event", 0, stream, args=args)

    def allocate(self, nbytes: int, total: int, out_of_memory: bool = False) -> None:
        change = DeviceMemory(
            clock.now_ns(), threading.get_ident(), 0, 4096, nbytes, total, 2 << 20, out_of_memory
        )
        for log in activity.logs:
            log.memory.append(change)


# Each takes the list of devices as it is when it is imported.
for module in walk_packages(modelled.__path__, f"{modelled.__name__}."):
    import_module(module.name)
_SPEC = SimpleNamespace(properties=lambda index: {"id": index, **PROPERTIES})


def add_device() -> None:
    """There is a device from now on."""
    modelled_device.devices = [SimpleNamespace(index=0, spec=_SPEC)]


def configure(monkeypatch: pytest.MonkeyPatch) -> ModelledDevice:
    """There is a device from now on, to the end of the test."""
    monkeypatch.setattr(modelled_device, "devices", [])
    add_device()
    return ModelledDevice()


class OnDevice(rt.autograd.Function):
    """Doubles on the host, with a launch between two operators that really takes 50 ms."""

    REAL_NS = 50_000_000

    @staticmethod
    def forward(ctx: Any, x: Any, device: Any, real_ns: int = REAL_NS) -> Any:
        ctx.device = device
        y = x + 0
        device.launch("forward_kernel", real_ns=real_ns)
        return y * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        ctx.device.launch("backward_kernel")
        return grad * 2, None, None


def step(device: ModelledDevice) -> None:
    """A bit of everything."""
    device.copy(4000)
    device.allocate(512, 512)
    x = rt.ones(3, requires_grad=True)
    with rt.record_function("a range"):
        y = OnDevice.apply(x, device)
    y.sum().backward()
    device.fill(64)
    device.synchronize()
    device.synchronize(-1)
    device.allocate(-512, 0)
    device.allocate(1 << 40, 0, out_of_memory=True)
