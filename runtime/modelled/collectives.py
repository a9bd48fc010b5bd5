"""Collectives: one kernel on a stream of each device, which end together.

    stream 13 of cuda:0    |backward|AllReduce........|
    stream 13 of cuda:1    |backward......||AllReduce.|

Nothing moves before all take part: a kernel begins when its own stream is ready, and one that is
early waits for the others in its own time, as NCCL's do. They share the device with kernels of
other streams: a collective needs few of its blocks. Sums are taken in the order of the tensors,
once, so that all devices get the same bits.
Source: torch/cuda/nccl.py, NCCL's src/device/generate.py (names), libkineto/src/CuptiActivity.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.storage import storage_of
from ..engine.hooks import check
from ..engine.tensor import bump_version
from ..observe.arrangement import active
from ..observe.record_function import record_function
from . import activity, clock
from .activity import correlations, log_call
from .cost import KernelPlan, all_reduce_ns, names_of
from .kernel_launch import log_kernel
from .modelled_device import ModelledDevice, devices
from .streams import Stream, current_stream, refuse_in_capture

SUM = 0
_OPS = ("sum", "avg")
_CHANNELS = 24  # blocks: each goes round the ring with a part of the data
_THREADS = 544
_REGISTERS = 96
Part = tuple[Sequence[Any], Sequence[Any]]  # the tensors that a device reads, and those it writes
Streams = Sequence[Stream] | None


class _Collective(NamedTuple):
    name: str  # as a kernel is called
    recorded: str  # as Kineto calls it
    duration_ns: int


def is_available(tensors: Sequence[Any]) -> bool:
    """Whether these can take part together: dense, contiguous, each on a device of its own."""
    used = set()
    for tensor in tensors:
        storage = None if tensor.is_sparse else storage_of(tensor)
        if storage is None or not tensor.array.flags.c_contiguous or storage.device in used:
            return False
        used.add(storage.device)
    return True


def all_reduce(
    inputs: Sequence[Any], outputs: Any = None, op: Any = SUM, streams: Streams = None
) -> None:
    """Every output becomes the sum (or average) of the inputs, bit for bit the same everywhere.

    Args:
        inputs: one on each device, of one shape and dtype.
        outputs: the inputs themselves by default.
        op: "sum" or 0, or "avg".
        streams: one of each device; the current ones by default.

    Raises:
        ValueError: another `op`, or tensors that do not go together.
    """
    given = list(inputs)
    results = given if outputs is None else list(outputs)
    op = _operation(op)
    _check([*given, *results] if results is not given else given, len(given))

    parts = [((x,), (y,)) for x, y in zip(given, results, strict=True)]

    def run(*_: Any) -> None:
        with record_function("nccl:all_reduce"):
            duration = all_reduce_ns(given[0].array.nbytes, len(given), _owner(given[0]).spec)
            what = _Collective(f"AllReduce_Sum_{_dtype(given)}", "allreduce", duration)
            _run(what, parts, streams, lambda: _give([_total(given, op)] * len(results), results))

    active[0].op("c10d::allreduce_", run, (given,))


def broadcast(inputs: Sequence[Any], root: int = 0, streams: Streams = None) -> None:
    """Every tensor gets the values of `inputs[root]`.

    Raises:
        ValueError: tensors that do not go together.
    """
    given = list(inputs)
    _check(given, len(given))
    source = given[root]
    parts = [((x,), ()) if x is source else ((), (x,)) for x in given]
    others = [x for x in given if x is not source]
    what = _Collective("Broadcast", "broadcast", _one_way_ns(given))
    _run(what, parts, streams, lambda: _give([source.array] * len(others), others))


def reduce(
    inputs: Sequence[Any], output: Any = None, root: int = 0, op: Any = SUM, streams: Streams = None
) -> None:
    """`output` (the root's tensor by default) becomes the sum of the inputs.

    Raises:
        ValueError: another `op`, or tensors that do not go together.
    """
    given = list(inputs)
    op = _operation(op)
    _check(given, len(given))
    result = given[root] if output is None else output
    parts = [((x,), (result,) if i == root else ()) for i, x in enumerate(given)]
    what = _Collective(f"Reduce_Sum_{_dtype(given)}", "reduce", _one_way_ns(given))
    _run(what, parts, streams, lambda: _give([_total(given, op)], [result]))


def _dtype(tensors: Sequence[Any]) -> str:
    """The dtype of the tensors, as NCCL's kernels call it."""
    return names_of(tensors[0].array.dtype.name).nccl


def _operation(op: Any) -> str:
    name = "sum" if op == SUM else op
    check(name in _OPS, f"op is one of {', '.join(_OPS)}, not {op!r}", ValueError)
    return str(name)


def _one_way_ns(tensors: Sequence[Any]) -> int:
    """The time to go through the ring once with everything.

    An all-reduce among n devices goes through it 2 (n - 1) times, each time with one n-th.
    """
    count = len(tensors)
    if count < 2:
        return 0
    whole = tensors[0].array.nbytes * count // (count - 1)
    return all_reduce_ns(whole, count, _owner(tensors[0]).spec) // 2


def _check(tensors: Sequence[Any], count: int) -> None:
    wanted = "a collective needs a tensor of each device that takes part"
    check(len(tensors) > 0, wanted, ValueError)
    first = tensors[0].array
    for place, tensor in enumerate(tensors):
        array, there = tensor.array, storage_of(tensor) is not None
        check(there, f"tensor {place} is on the CPU: collectives are among devices", ValueError)
        kind = f"{array.dtype} of {array.size} elements"
        other = f"the first one {first.dtype} of {first.size}"
        alike = array.size == first.size and array.dtype == first.dtype
        check(alike, f"tensor {place} is {kind}, {other}", ValueError)
    used = [_owner(tensor).index for tensor in tensors[:count]]
    apart = f"each tensor must be on a device of its own, but they are on {used}"
    check(len(set(used)) == count, apart, ValueError)
    contiguous = all(tensor.array.flags.c_contiguous for tensor in tensors)
    check(contiguous, "tensors of a collective must be contiguous", ValueError)


def _owner(tensor: Any) -> ModelledDevice:
    storage = storage_of(tensor)
    assert storage is not None
    return devices[storage.device]


def _total(tensors: Sequence[Any], op: str) -> Any:
    total = tensors[0].array.copy()
    for tensor in tensors[1:]:
        total += tensor.array.reshape(total.shape)
    if op == "avg":
        count = total.dtype.type(len(tensors))
        total = total // count if total.dtype.kind in "iu" else total / count
    return total


def _give(values: Sequence[Any], outputs: Sequence[Any]) -> None:
    for value, output in zip(values, outputs, strict=True):
        np.copyto(output.array, value.reshape(output.array.shape))
        bump_version(output)


def _run(what: _Collective, parts: Sequence[Part], streams: Streams, compute: Any) -> None:
    """Compute, and launch one kernel on each device."""
    owners = [_owner((*reads, *writes)[0]) for reads, writes in parts]
    used = list(streams) if streams else [current_stream(owner.index) for owner in owners]
    theirs = [stream.owner for stream in used] == owners
    check(theirs, "the streams must be of the tensors' devices, in their order", ValueError)
    for stream in used:
        refuse_in_capture(stream, f"nccl {what.recorded}")
    with clock.stretch:
        compute()
        clock.stretch.cost_ns = _launch(what, parts, used)


def _launch(what: _Collective, parts: Sequence[Part], streams: Sequence[Stream]) -> int:
    """Put one kernel on each stream; returns what that takes the host, in ns."""
    start = host = clock.now_ns()
    calls, ready = list[tuple[int, int]](), list[int]()
    for stream in streams:
        before, host = host, stream.owner.launched(host)
        calls.append((before, host))
        ready.append(max(host + stream.owner.spec.start_latency_ns, stream.ready_ns))
    end = max(ready) + what.duration_ns
    ranks = [stream.device_index for stream in streams]
    name = f"ncclDevKernel_{what.name}_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
    sizes = (_CHANNELS, 1, 1), (_THREADS, 1, 1), _REGISTERS, 0
    for rank, (stream, call, part) in enumerate(zip(streams, calls, parts, strict=True)):
        owner = stream.owner
        took = end - ready[rank]
        span = owner.run(stream, ready[rank] - owner.spec.start_latency_ns, took)
        if not activity.logs:
            continue
        correlation = next(correlations)
        log_call("cudaLaunchKernelExC", *call, correlation)
        reads, writes = (tuple(storage_of(x).number for x in each) for each in part)  # type: ignore[union-attr]
        array = (*part[0], *part[1])[0].array
        plan = KernelPlan(name, took, 0, array.nbytes, *sizes)
        more = {
            "Collective name": what.recorded,
            "In msg nelems": array.size,
            "Out msg nelems": array.size,
            "Group size": len(streams),
            "dtype": names_of(array.dtype.name).kineto,
            "Process Group Name": "0",
            "Process Group Description": "default_pg",
            "Process Group Ranks": str(ranks),
            "Rank": rank,
        }
        log_kernel(plan, span, stream, correlation, reads, writes, more)
    return host - start
