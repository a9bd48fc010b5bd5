"""Collectives: one kernel on a stream of each device, which begin together and take equally long.

    stream 13 of cuda:0    |backward|......|AllReduce|
    stream 13 of cuda:1    |backward......||AllReduce|

Nothing moves before all take part, so the kernels begin when the last of the streams is ready; a
real one that is early shows the waiting as its own time. They share the device with kernels of
other streams: a collective needs few of its blocks. Sums are taken in the order of the tensors,
once, so that all devices get the same bits.
Source: torch/cuda/nccl.py, NCCL's src/device/generate.py (names), libkineto/src/CuptiActivity.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..record_function import active, record_function
from ..storage import storage_of
from ..tensor import bump_version
from . import activity, clock
from .cost import KernelPlan, all_reduce_ns
from .modelled_device import correlations, kernel_args, log_call, log_work
from .state import current_stream
from .streams import Stream, refuse_in_capture

SUM = 0
_OPS = ("sum", "avg")
_CHANNELS = 24  # blocks: each goes round the ring with a part of the data
_THREADS = 544
_REGISTERS = 96
_KINETO = {
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "int8": "Char",
    "uint8": "Byte",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "bool": "Bool",
}
_NCCL = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float64": "f64",
    "int8": "u8",
    "uint8": "u8",
    "bool": "u8",
    "int32": "u32",
    "int64": "u64",
}


class _Collective(NamedTuple):
    name: str  # as a kernel is called
    recorded: str  # as Kineto calls it
    duration_ns: int


def is_available(tensors: Sequence[Any]) -> bool:
    """Whether these can take part together: dense, contiguous, each on a device of its own."""
    found = set()
    for tensor in tensors:
        storage = None if tensor.is_sparse else storage_of(tensor)
        if storage is None or not tensor.array.flags.c_contiguous or storage.device in found:
            return False
        found.add(storage.device)
    return True


def all_reduce(
    inputs: Sequence[Any],
    outputs: Sequence[Any] | None = None,
    op: Any = SUM,
    streams: Sequence[Stream] | None = None,
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

    def run(*_: Any) -> None:
        with record_function("nccl:all_reduce"):
            duration = all_reduce_ns(given[0].array.nbytes, len(given), _owner(given[0]).spec)
            name = f"AllReduce_Sum_{_NCCL.get(given[0].array.dtype.name, 'f32')}"
            _run(
                _Collective(name, "allreduce", duration),
                [((x,), (y,)) for x, y in zip(given, results, strict=True)],
                streams,
                lambda: _give([_total(given, op)] * len(results), results),
            )

    active[0].op("c10d::allreduce_", run, (given,))


def broadcast(
    inputs: Sequence[Any], root: int = 0, streams: Sequence[Stream] | None = None
) -> None:
    """Every tensor gets the values of `inputs[root]`.

    Raises:
        ValueError: tensors that do not go together.
    """
    given = list(inputs)
    _check(given, len(given))
    source = given[root]
    parts = [((x,), ()) if x is source else ((), (x,)) for x in given]
    others = [x for x in given if x is not source]
    _run(
        _Collective("Broadcast", "broadcast", _one_way_ns(given)),
        parts,
        streams,
        lambda: _give([source.array] * len(others), others),
    )


def reduce(
    inputs: Sequence[Any],
    output: Any = None,
    root: int = 0,
    op: Any = SUM,
    streams: Sequence[Stream] | None = None,
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
    name = f"Reduce_Sum_{_NCCL.get(given[0].array.dtype.name, 'f32')}"
    _run(
        _Collective(name, "reduce", _one_way_ns(given)),
        parts,
        streams,
        lambda: _give([_total(given, op)], [result]),
    )


def _operation(op: Any) -> str:
    found = "sum" if op == SUM else op
    if found not in _OPS:
        raise ValueError(f"op is one of {', '.join(_OPS)}, not {op!r}")
    return str(found)


def _one_way_ns(tensors: Sequence[Any]) -> int:
    """Once through the ring, where an all-reduce of n parts goes 2 (n - 1) times with one n-th."""
    count = len(tensors)
    if count < 2:
        return 0
    whole = tensors[0].array.nbytes * count // (count - 1)
    return all_reduce_ns(whole, count, _owner(tensors[0]).spec) // 2


def _check(tensors: Sequence[Any], count: int) -> None:
    if not tensors:
        raise ValueError("a collective needs a tensor of each device that takes part")
    first = tensors[0].array
    for place, tensor in enumerate(tensors):
        storage, array = storage_of(tensor), tensor.array
        if storage is None:
            raise ValueError(f"tensor {place} is on the CPU: collectives are among devices")
        if array.size != first.size or array.dtype != first.dtype:
            raise ValueError(
                f"tensor {place} is {array.dtype} of {array.size} elements, the first one "
                f"{first.dtype} of {first.size}"
            )
    used = [_owner(tensor).index for tensor in tensors[:count]]
    if len(set(used)) < count:
        raise ValueError(f"each tensor must be on a device of its own, but they are on {used}")
    if not all(tensor.array.flags.c_contiguous for tensor in tensors):
        raise ValueError("tensors of a collective must be contiguous")


def _owner(tensor: Any) -> Any:
    storage = storage_of(tensor)
    assert storage is not None
    return current_stream(storage.device).owner


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


def _run(
    what: _Collective,
    parts: Sequence[tuple[Sequence[Any], Sequence[Any]]],
    streams: Sequence[Stream] | None,
    compute: Callable[[], None],
) -> None:
    """Compute, and launch one kernel a device; `parts` is what each reads and what it writes."""
    owners = [_owner((*reads, *writes)[0]) for reads, writes in parts]
    used = list(streams) if streams else [current_stream(owner.index) for owner in owners]
    if [stream.owner for stream in used] != owners:
        raise ValueError("the streams must be of the tensors' devices, in their order")
    for stream in used:
        refuse_in_capture(stream, f"nccl {what.recorded}")
    clock.open_stretch()
    cost = 0
    try:
        compute()
        cost = _launch(what, parts, used)
    finally:
        clock.close_stretch(cost)


def _launch(
    what: _Collective,
    parts: Sequence[tuple[Sequence[Any], Sequence[Any]]],
    streams: Sequence[Stream],
) -> int:
    start = host = clock.now_ns()
    calls, begin = list[tuple[int, int]](), 0
    for stream in streams:
        before, host = host, stream.owner.launched(host)
        calls.append((before, host))
        begin = max(begin, host + stream.owner.spec.start_latency_ns, stream.ready_ns)
    ranks = [stream.device_index for stream in streams]
    for rank, (stream, call, part) in enumerate(zip(streams, calls, parts, strict=True)):
        owner = stream.owner
        span = owner.run(stream, begin - owner.spec.start_latency_ns, what.duration_ns)
        if not activity.logs:
            continue
        correlation = next(correlations)
        log_call("cudaLaunchKernelExC", *call, correlation)
        reads, writes = ([storage_of(x).number for x in each] for each in part)  # type: ignore[union-attr]
        array = (*part[0], *part[1])[0].array
        arguments = "(ncclDevComm*, unsigned long, ncclWork*)"
        name = f"ncclDevKernel_{what.name}_RING_LL{arguments}"
        plan = KernelPlan(
            name,
            what.duration_ns,
            0,
            array.nbytes,
            (_CHANNELS, 1, 1),
            (_THREADS, 1, 1),
            _REGISTERS,
            0,
        )
        args = {
            **kernel_args(plan, owner.spec),
            "Collective name": what.recorded,
            "In msg nelems": array.size,
            "Out msg nelems": array.size,
            "Group size": len(streams),
            "dtype": _KINETO.get(array.dtype.name, array.dtype.name),
            "Process Group Name": "0",
            "Process Group Description": "default_pg",
            "Process Group Ranks": str(ranks),
            "Rank": rank,
        }
        log_work("kernel", name, span, stream, correlation, 0, args, tuple(reads), tuple(writes))
    return host - start
