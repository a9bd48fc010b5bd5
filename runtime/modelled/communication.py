"""torch.cuda.comm: tensors to several devices, and back, without gradients.

Source: torch/nn/parallel/comm.py, torch/csrc/cuda/comm.cpp, torch/csrc/utils/tensor_flatten.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..core.aten import aten
from ..core.mode import F
from ..core.storage import storage_of
from ..engine.grad_mode import no_grad
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from . import collectives as nccl
from .current_device import StreamContext
from .modelled_device import devices as all_devices
from .placement import device_number_of
from .streams import Stream, device_index

BUFFER_NBYTES = 10 << 20
_without_grad: Callable[[F], F] = no_grad()


def _numbers(devices: Any) -> list[int]:
    return [device_index(each) for each in devices]


def _empty(shape: Sequence[int], like: Tensor, device: int | None) -> Tensor:
    """On a device by its number; None is the CPU."""
    place = None if device is None else f"cuda:{device}"
    made: Tensor = aten.empty(list(shape), dtype=like.array.dtype, device=place)
    return made


@_without_grad
def broadcast(tensor: Tensor, devices: Any = None, *, out: Any = None) -> tuple[Tensor, ...]:
    """Copies of a tensor, one for each device; on its own device the tensor itself.

    Args:
        devices: which; the tensor's own comes first.
        out: tensors to fill, in place of `devices`.

    Raises:
        RuntimeError: neither or both of `devices` and `out` are given.
    """
    one = (devices is None) != (out is None)
    check(one, "Exactly one of 'devices' and 'out' must be specified")
    own = device_number_of(tensor)
    made = out
    if out is None:
        made = [tensor if d == own else _empty(tensor.shape, tensor, d) for d in _numbers(devices)]
    others = [each for each in made if each is not tensor]
    if nccl.is_available([tensor, *others]) and others:
        nccl.broadcast([tensor, *others])
    else:
        for each in others:
            each.copy_(tensor, non_blocking=True)
    return tuple(made)


@_without_grad
def broadcast_coalesced(
    tensors: Sequence[Tensor], devices: Any, buffer_size: int = BUFFER_NBYTES
) -> list[list[Tensor]]:
    """Copies of all tensors for each device, laid together into buffers on the way.

    Gives a list for each device; the first device's are the tensors themselves.

    Raises:
        ValueError: a tensor is not on the first device.
    """
    places = _numbers(devices)
    for place, tensor in enumerate(tensors):
        if device_number_of(tensor) != places[0]:
            wrong = f"tensor {place} is on {tensor.device}, but devices[0] is cuda:{places[0]}"
            raise ValueError(wrong)
    copies: list[list[Any]] = [list(tensors)] + [[None] * len(tensors) for _ in places[1:]]
    numbers = range(len(tensors) if len(places) > 1 else 0)
    for group in grouped(tensors, numbers, [buffer_size]):
        members = [tensors[number] for number in group]
        flats = broadcast(_flat(members), places)
        for flat, row in zip(flats[1:], copies[1:], strict=True):
            for number, part in zip(group, _unflat(flat, members), strict=True):
                row[number] = part
    return copies


@_without_grad
def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors of several devices, on the device of one of them.

    Raises:
        ValueError: one has another size, or is on the CPU.
        RuntimeError: none of them is on the destination.
    """
    target = device_index(destination)
    places = [device_number_of(tensor) for tensor in inputs]
    for number, tensor in enumerate(inputs):
        wrong = f"reduce_add expects all inputs on devices, but {number} is on cpu"
        check(places[number] is not None, wrong, ValueError)
        if tensor.shape != inputs[0].shape:
            got, wanted = ("x".join(map(str, x.shape)) for x in (tensor, inputs[0]))
            raise ValueError(f"input {number} has invalid size: got {got}, but expected {wanted}")
    wrong = "reduce_add expects destination to be on the same GPU with one of the tensors"
    check(target in places, wrong)
    root = places.index(target)
    if len(inputs) == 1:
        return inputs[0]
    if nccl.is_available(inputs):
        result = _empty(inputs[root].shape, inputs[root], target)
        nccl.reduce(inputs, result, root)
        return result
    first, *others = (x for number, x in enumerate(inputs) if number != root)
    result = inputs[root] + first.to(f"cuda:{target}", non_blocking=True)
    for other in others:
        result.add_(other.to(f"cuda:{target}", non_blocking=True))
    return result


@_without_grad
def reduce_add_coalesced(
    inputs: Sequence[Sequence[Tensor]], destination: Any = None, buffer_size: int = BUFFER_NBYTES
) -> tuple[Tensor, ...]:
    """Sums of tensors: `inputs` has a list for each device, all of the same shapes.

    Raises:
        NotImplementedError: one is sparse.
    """
    rows = [list(row) for row in inputs]
    if any(x.is_sparse for row in rows for x in row):
        raise NotImplementedError("sparse gradients are not reduced over devices; use sparse=False")
    sums: list[Any] = [None] * len(rows[0])
    if len(rows) == 1:
        return tuple(rows[0])
    for group in grouped(rows[0], range(len(rows[0])), [buffer_size]):
        flats = [_flat([row[number] for number in group]) for row in rows]
        whole = reduce_add(flats, destination)
        members = [rows[0][number] for number in group]
        for number, part in zip(group, _unflat(whole, members), strict=True):
            sums[number] = part
    return tuple(sums)


@_without_grad
def scatter(
    tensor: Tensor,
    devices: Any = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Sequence[Stream | None] | None = None,
    *,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """Pieces of a tensor along `dim`, one for each device.

    Args:
        chunk_sizes: of the pieces; equal ones (the last may be less) by default.
        streams: those of the devices that the copies are made on.
        out: tensors to fill, in place of `devices` and `chunk_sizes`.

    Raises:
        RuntimeError: there are not as many sizes as devices.
    """
    if out is not None:
        pieces = tensor.split([each.shape[dim] for each in out], dim)
        for piece, each in zip(pieces, out, strict=True):
            each.copy_(piece, non_blocking=True)
        return tuple(out)
    places = _numbers(range(len(all_devices)) if devices is None else devices)
    if chunk_sizes is None:
        pieces = tensor.chunk(len(places), dim)
    elif len(chunk_sizes) == len(places):
        pieces = tensor.split(list(chunk_sizes), dim)
    else:
        counts = f"{len(places)} and {len(chunk_sizes)}"
        wanted = "Expected devices and chunk_sizes to be of same length"
        raise RuntimeError(f"{wanted}, but got {counts}")
    moved_pieces = []
    for number, piece in enumerate(pieces):
        with StreamContext(streams[number] if streams else None):
            moved = piece.to(f"cuda:{places[number]}", non_blocking=True)
        if moved is piece:  # already there: a tensor of its own, on the same memory
            moved = wrap(piece.array)
            moved._counter = piece._counter
        moved_pieces.append(moved)
    return tuple(moved_pieces)


@_without_grad
def gather(
    tensors: Sequence[Tensor], dim: int = 0, destination: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """Tensors of several devices, one after the other along `dim`.

    Args:
        destination: a device, or "cpu" (or -1); the current device by default.
        out: a tensor to fill, in place of `destination`.

    Raises:
        RuntimeError: sizes differ in another dimension than `dim`.
    """
    first = tensors[0]
    place = dim + first.array.ndim if dim < 0 else dim
    shape = list(first.shape)
    for number, tensor in enumerate(tensors):
        have, wanted = list(tensor.shape), f"expected {shape} but for dimension {dim}"
        fits = have[:place] == shape[:place] and have[place + 1 :] == shape[place + 1 :]
        check(fits, f"Input tensor at index {number} has invalid shape {have}, but {wanted}")
    shape[place] = sum(tensor.shape[place] for tensor in tensors)
    if out is None:
        on_cpu = destination == -1 or str(destination) == "cpu"
        out = _empty(shape, first, None if on_cpu else device_index(destination))
    parts = out.split([tensor.shape[place] for tensor in tensors], place)
    waits = storage_of(out) is None  # who has it on the CPU may read it at once
    for part, tensor in zip(parts, tensors, strict=True):
        part.copy_(tensor, non_blocking=not waits)
    return out


def grouped(
    tensors: Sequence[Tensor], numbers: Iterable[int], limits: Sequence[int]
) -> Iterator[list[int]]:
    """Numbers of tensors of one dtype, in groups that reach their limit in bytes with their last.

    The first group of a dtype has the first limit, the others have the following ones, and then the
    last. Groups that do not reach theirs come in the end.
    """
    open_groups: dict[Any, tuple[list[int], int]] = {}
    full: dict[Any, int] = {}  # how many groups of a dtype are
    for number in numbers:
        array = tensors[number].array
        group, nbytes = open_groups.pop(array.dtype, ([], 0))
        group.append(number)
        nbytes += array.nbytes
        rank = full.get(array.dtype, 0)
        if nbytes >= limits[min(rank, len(limits) - 1)]:
            full[array.dtype] = rank + 1
            yield group
        else:
            open_groups[array.dtype] = group, nbytes
    yield from (group for group, _ in open_groups.values())


def _flat(tensors: Sequence[Tensor]) -> Tensor:
    if len(tensors) == 1 and tensors[0].array.flags.c_contiguous:
        return tensors[0].detach().reshape(-1)
    return aten.cat([tensor.detach().reshape(-1) for tensor in tensors])


def _unflat(flat: Tensor, like: Sequence[Tensor]) -> Iterator[Tensor]:
    start = 0
    for tensor in like:
        end = start + math.prod(tensor.shape)
        yield wrap(flat.array[start:end].reshape(tensor.array.shape))
        start = end
