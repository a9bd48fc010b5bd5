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

import numpy as np

from ..device import Device
from ..grad_mode import is_grad_enabled
from ..node import Grads, Node
from ..record_function import active
from ..storage import Storage, is_pinned, pin, storage_of
from ..tensor import Tensor, gradient_edge, wrap
from . import activity, clock
from .cost import copy_ns
from .modelled_device import Engine, correlations, host_wait, log_call, log_work
from .placement import place
from .state import current_stream, device_index, devices
from .streams import Stream, refuse_in_capture

_STAGED_NBYTES = 64 << 10  # the driver takes so much pageable memory without waiting for the copy
_SCALAR_NBYTES = 8


def to_device(tensor: Tensor, dtype: Any, device: Any, non_blocking: bool) -> Tensor:
    """`tensor` on another device, and in another dtype if one is given."""
    if not active:
        raise RuntimeError(
            "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you "
            "must use the 'spawn' start method"
        )
    target = None if Device(device).type == "cpu" else device_index(device)
    kind = tensor.array.dtype if dtype is None else np.dtype(dtype)
    shown = (tensor, None if dtype is None else kind, None, device, None, non_blocking, None)

    def to_copy(source: Tensor, *_: Any) -> Tensor:
        storage = storage_of(source)
        pinned = target is None and non_blocking
        made = _empty(source.array, kind, target, pinned)
        active[0].op("aten::copy_", fill_from, (made, source.detach(), non_blocking))
        if source._rg and is_grad_enabled() and kind.kind in "fcV":
            node = ToCopyBackward0(
                (gradient_edge(source),), ((made.array.shape, made.array.dtype),)
            )
            node.source = None if storage is None else storage.device, source.array.dtype
            node.stream = None if target is None else current_stream(target)
            made._node, made._rg = node, True
        return made

    found: Tensor = active[0].op("aten::_to_copy", to_copy, shown)
    return found


def _empty(like: Any, dtype: Any, target: int | None, pinned: bool) -> Tensor:
    device = Device("cpu") if target is None else Device("cuda", target)
    strides = [n // like.itemsize for n in like.strides] if like.itemsize else []

    def make(*_: Any) -> Tensor:
        made = wrap(np.empty_like(like, dtype, "K" if _is_dense(like) else "C", subok=False))
        if target is not None:
            place(made, current_stream(target))
        elif pinned:
            pin(made)
        return made

    shown = (list(like.shape), strides, dtype, None, device, pinned or None)
    found: Tensor = active[0].op("aten::empty_strided", make, shown)
    return found


def _is_dense(array: Any) -> bool:
    """Whether its elements fill one piece of memory, each at a place of its own, in any order."""
    expected = array.itemsize
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def fill_from(made: Tensor, source: Tensor, _: bool) -> Tensor:
    made.array[...] = source.array
    return made


class ToCopyBackward0(Node):
    """The gradient goes back to where the tensor came from."""

    __slots__ = ("source",)
    source: tuple[int | None, Any]  # its device (None is the CPU) and dtype

    def apply(self, grads: Grads) -> Grads:
        grad = grads[0]
        if grad is None:
            return [None]
        index, dtype = self.source
        device = "cpu" if index is None else f"cuda:{index}"
        return [grad.to(device, dtype)]


def between(inner: Callable[..., Any], args: Any, kwargs: Any, blocking: bool) -> Any:
    """Run `copy_(target, source)`, of which one is on a device that the other is not on."""
    target, source = args[0], args[1]
    to, from_ = storage_of(target), storage_of(source)
    if to is not None and from_ is not None:
        return _peer(inner, args, kwargs, to, from_)
    device = devices[(to or from_).device]  # type: ignore[union-attr]
    stream = current_stream(device.index)
    pinned = is_pinned(source if from_ is None else target)
    if blocking or not pinned:
        refuse_in_capture(stream, "a copy between host and device")
    clock.open_stretch()
    cost = 0
    try:
        out = inner(*args, **kwargs)
        nbytes, host = source.array.nbytes, "Pinned" if pinned else "Pageable"
        if from_ is None:
            name, engine = f"Memcpy HtoD ({host} -> Device)", device.upload
            duration = copy_ns(nbytes, f"HtoD {host.lower()}", device.spec)
        else:
            name, engine = f"Memcpy DtoH (Device -> {host})", device.download
            duration = copy_ns(nbytes, f"DtoH {host.lower()}", device.spec)
        waits = not pinned and (from_ is not None or nbytes > _STAGED_NBYTES)
        cost = _enqueue(name, nbytes, duration, stream, engine, from_, to, waits)
    finally:
        clock.close_stretch(cost)
    if stream.capture is not None:
        stream.capture.add(inner, args, kwargs, [target])
    if blocking:
        _wait_for(stream)
    return out


def read_back(tensor: Tensor, stream: Stream) -> None:
    """A few bytes of a tensor come to the host, which waits for them."""
    duration = copy_ns(_SCALAR_NBYTES, "DtoH pinned", stream.owner.spec)
    nbytes = min(_SCALAR_NBYTES, tensor.array.itemsize)
    name, storage = "Memcpy DtoH (Device -> Pinned)", storage_of(tensor)
    clock.open_stretch()
    engine = stream.owner.download
    clock.close_stretch(_enqueue(name, nbytes, duration, stream, engine, storage, None, False))
    _wait_for(stream)


def _wait_for(stream: Stream) -> None:
    host_wait("cudaStreamSynchronize", stream.ready_ns, "Stream Sync", stream)


def _enqueue(
    name: str,
    nbytes: int,
    duration_ns: int,
    stream: Stream,
    engine: Engine | None,
    source: Any,
    target: Any,
    waits: bool,
) -> int:
    """One cudaMemcpyAsync; gives what it takes the host."""
    device = stream.owner
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
    return after - start


def _peer(inner: Callable[..., Any], args: Any, kwargs: Any, to: Storage, from_: Storage) -> Any:
    """Copy.cu: the copy runs on the source's stream, after and before the target's."""
    ours, theirs = current_stream(from_.device), current_stream(to.device)
    ours.wait_stream(theirs)
    clock.open_stretch()
    cost = 0
    try:
        out = inner(*args, **kwargs)
        nbytes = args[1].array.nbytes
        duration = copy_ns(nbytes, "PtoP", ours.owner.spec)
        name = "Memcpy PtoP (Device -> Device)"
        cost = _enqueue(name, nbytes, duration, ours, None, from_, to, False)
    finally:
        clock.close_stretch(cost)
    theirs.wait_stream(ours)
    return out
