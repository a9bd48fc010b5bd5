"""Copies between the host and the devices.

    host -> device    pageable    the driver reads the memory before the call returns
                      pinned      the host goes on at once, unless the copy is a blocking one
    device -> host                as above; what reads a value always waits
    device -> device  peer copy   on the source's stream, which both devices' streams wait for

Source: aten/src/ATen/native/cuda/Copy.cu; the CUDA Runtime API, "API synchronization behavior".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.storage import Storage, is_pinned, storage_of
from ..engine.tensor import Tensor
from . import activity, clock
from .activity import correlations, host_wait, log_call, log_work
from .cost import copy_ns
from .streams import Stream, current_stream

_STAGED_NBYTES = 64 << 10  # the driver takes so much pageable memory without waiting for the copy
_SCALAR_NBYTES = 8
Place = Storage | None


def between(inner: Callable[..., Any], args: Any, kwargs: Any, blocking: bool) -> Any:
    """Run `copy_(target, source)`, where the two are on different devices or one is on the CPU."""
    target, source = args[0], args[1]
    to, from_ = storage_of(target), storage_of(source)
    if to is not None and from_ is not None:
        return _peer(inner, args, kwargs, to, from_)
    stream = current_stream((to or from_).device)  # type: ignore[union-attr]
    pinned = is_pinned(source if from_ is None else target)
    with clock.stretch:
        out = inner(*args, **kwargs)
        _enqueue(source.array.nbytes, stream, from_, to, pinned)
    if blocking:
        _wait_for(stream)
    return out


def read_back(tensor: Tensor, stream: Stream) -> None:
    """Bring a few bytes of a tensor to the host, which waits for them."""
    with clock.stretch:
        _enqueue(min(_SCALAR_NBYTES, tensor.array.itemsize), stream, storage_of(tensor), None)
    _wait_for(stream)


def _wait_for(stream: Stream) -> None:
    host_wait("cudaStreamSynchronize", stream.ready_ns, "Stream Sync", stream)


def _enqueue(
    nbytes: int, stream: Stream, source: Place, target: Place, pinned: bool = True
) -> None:
    """One cudaMemcpyAsync, whose cost to the host is that of the open stretch.

    Args:
        source: None on the host, as `target`; then it matters whether that memory is `pinned`.
    """
    device, host = stream.owner, "Pinned" if pinned else "Pageable"
    if source is None:
        kind, ends, engine = f"HtoD {host.lower()}", f"{host} -> Device", device.upload
    elif target is None:
        kind, ends, engine = f"DtoH {host.lower()}", f"Device -> {host}", device.download
    else:
        kind, ends, engine = "PtoP", "Device -> Device", None
    name, duration_ns = f"Memcpy {kind[:4]} ({ends})", copy_ns(nbytes, kind, device.spec)
    waits = not pinned and (source is not None or nbytes > _STAGED_NBYTES)
    start = clock.now_ns()
    after = device.launched(start)
    span = device.run(stream, after, duration_ns, engine=engine)
    if waits:
        after = max(after, span[1])
    if activity.logs:
        correlation = next(correlations)
        log_call("cudaMemcpyAsync", start, after, correlation)
        reads = () if source is None else (source.number,)
        writes = () if target is None else (target.number,)
        log_work("gpu_memcpy", name, span, stream, correlation, nbytes, reads=reads, writes=writes)
    clock.stretch.cost_ns = after - start


def _peer(inner: Callable[..., Any], args: Any, kwargs: Any, to: Storage, from_: Storage) -> Any:
    """The copy runs on the source's stream; the target's stream waits for it, and it for that."""
    ours, theirs = current_stream(from_.device), current_stream(to.device)
    ours.wait_stream(theirs)
    with clock.stretch:
        out = inner(*args, **kwargs)
        _enqueue(args[1].array.nbytes, ours, from_, to)
    theirs.wait_stream(ours)
    return out
