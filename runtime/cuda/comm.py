"""torch.cuda.comm: tensors to several devices, and back. Nothing of it is differentiable itself.

Source: torch/nn/parallel/comm.py, torch/csrc/cuda/comm.cpp, torch/csrc/utils/tensor_flatten.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ..grad_mode import no_grad
from ..ops.table import PUBLIC
from ..storage import storage_of
from ..tensor import Tensor, wrap
from . import nccl, state
from .state import device_index
from .streams import Stream, StreamContext

F = TypeVar("F", bound=Callable[..., Any])
BUFFER_NBYTES = 10 << 20


def _without_grad(function: F) -> F:
    found: F = no_grad()(function)
    return found


def _numbers(devices: Any) -> list[int]:
    return [device_index(each) for each in devices]


def _empty(shape: Sequence[int], like: Tensor, device: int) -> Tensor:
    made: Tensor = PUBLIC["torch"]["empty"](
        list(shape), dtype=like.array.dtype, device=f"cuda:{device}"
    )
    return made


def _device_of(tensor: Tensor) -> int:
    storage = storage_of(tensor)
    return -1 if storage is None else storage.device


@_without_grad
def broadcast(tensor: Tensor, devices: Any = None, *, out: Any = None) -> tuple[Tensor, ...]:
    """Copies of a tensor, one for each device; on its own device the tensor itself.

    Args:
        devices: which; the tensor's own comes first.
        out: tensors to fill, in place of `devices`.

    Raises:
        RuntimeError: neither or both of `devices` and `out` are given.
    """
    if (devices is None) == (out is None):
        raise RuntimeError("Exactly one of 'devices' and 'out' must be specified")
    own = _device_of(tensor)
    if out is None:
        made = [tensor if d == own else _empty(tensor.shape, tensor, d) for d in _numbers(devices)]
    else:
        made = list(out)
    others = [each for each in made if each is not tensor]
    together = [tensor, *others]
    if nccl.is_available(together):
        if others:
            nccl.broadcast(together)
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
        if _device_of(tensor) != places[0]:
            raise ValueError(
                f"tensor {place} is on {tensor.device}, but devices[0] is cuda:{places[0]}"
            )
    found: list[list[Any]] = [list(tensors)] + [[None] * len(tensors) for _ in places[1:]]
    for group in _groups(tensors, buffer_size) if len(places) > 1 else ():
        members = [tensors[number] for number in group]
        flats = broadcast(_flat(members), places)
        for flat, row in zip(flats[1:], found[1:], strict=True):
            for number, part in zip(group, _unflat(flat, members), strict=True):
                row[number] = part
    return found


@_without_grad
def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors of several devices, on the device of one of them.

    Raises:
        ValueError: one has another size, or is on the CPU.
        RuntimeError: none of them is on the destination.
    """
    target = device_index(destination)
    places = [_device_of(tensor) for tensor in inputs]
    for number, tensor in enumerate(inputs):
        if places[number] < 0:
            raise ValueError(f"reduce_add expects all inputs on devices, but {number} is on cpu")
        if tensor.shape != inputs[0].shape:
            got, wanted = ("x".join(map(str, x.shape)) for x in (tensor, inputs[0]))
            raise ValueError(f"input {number} has invalid size: got {got}, but expected {wanted}")
    if target not in places:
        raise RuntimeError(
            "reduce_add expects destination to be on the same GPU with one of the tensors"
        )
    root = places.index(target)
    if len(inputs) == 1:
        return inputs[0]
    if nccl.is_available(inputs):
        result = _empty(inputs[root].shape, inputs[root], target)
        nccl.reduce(inputs, result, root)
        return result
    others = [x for number, x in enumerate(inputs) if number != root]
    result = inputs[root] + others[0].to(f"cuda:{target}", non_blocking=True)
    for other in others[1:]:
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
    found: list[Any] = [None] * len(rows[0])
    if len(rows) == 1:
        return tuple(rows[0])
    for group in _groups(rows[0], buffer_size):
        flats = [_flat([row[number] for number in group]) for row in rows]
        whole = reduce_add(flats, destination)
        members = [rows[0][number] for number in group]
        for number, part in zip(group, _unflat(whole, members), strict=True):
            found[number] = part
    return tuple(found)


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
    places = _numbers(range(len(state.devices)) if devices is None else devices)
    if chunk_sizes is None:
        pieces = tensor.chunk(len(places), dim)
    elif len(chunk_sizes) == len(places):
        pieces = tensor.split(list(chunk_sizes), dim)
    else:
        raise RuntimeError(
            f"Expected devices and chunk_sizes to be of same length, but got {len(places)} "
            f"and {len(chunk_sizes)}"
        )
    found = []
    for number, piece in enumerate(pieces):
        with StreamContext(streams[number] if streams else None):
            moved = piece.to(f"cuda:{places[number]}", non_blocking=True)
        if moved is piece:  # already there: a tensor of its own, on the same memory
            moved = wrap(piece.array)
            moved._counter = piece._counter
        found.append(moved)
    return tuple(found)


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
        if [*tensor.shape[:place], *tensor.shape[place + 1 :]] != [
            *shape[:place],
            *shape[place + 1 :],
        ]:
            raise RuntimeError(
                f"Input tensor at index {number} has invalid shape {list(tensor.shape)}, but "
                f"expected {shape} but for dimension {dim}"
            )
    shape[place] = sum(tensor.shape[place] for tensor in tensors)
    if out is None and (destination == -1 or str(destination) == "cpu"):
        out = PUBLIC["torch"]["empty"](shape, dtype=first.array.dtype)
    elif out is None:
        out = _empty(shape, first, device_index(destination))
    parts = out.split([tensor.shape[place] for tensor in tensors], place)
    waits = storage_of(out) is None  # who has it on the CPU may read it at once
    for part, tensor in zip(parts, tensors, strict=True):
        part.copy_(tensor, non_blocking=not waits)
    return out


def _groups(tensors: Sequence[Tensor], limit: int) -> Iterator[list[int]]:
    """Numbers of tensors of one dtype, in groups that reach the limit with their last."""
    open_groups: dict[Any, tuple[list[int], int]] = {}
    for number, tensor in enumerate(tensors):
        group, nbytes = open_groups.pop(tensor.array.dtype, ([], 0))
        group.append(number)
        nbytes += tensor.array.nbytes
        if nbytes >= limit:
            yield group
        else:
            open_groups[tensor.array.dtype] = group, nbytes
    yield from (group for group, _ in open_groups.values())


def _flat(tensors: Sequence[Tensor]) -> Tensor:
    if len(tensors) == 1 and tensors[0].array.flags.c_contiguous:
        return tensors[0].detach().reshape(-1)
    return PUBLIC["torch"]["cat"]([tensor.detach().reshape(-1) for tensor in tensors])


def _unflat(flat: Tensor, like: Sequence[Tensor]) -> Iterator[Tensor]:
    start = 0
    for tensor in like:
        end = start + math.prod(tensor.shape)
        yield wrap(flat.array[start:end].reshape(tensor.array.shape))
        start = end
