"""Arguments of operators in their standard form, and the errors of those that have none."""

from __future__ import annotations

import itertools
import math
import warnings
from operator import index
from typing import Any

import numpy as np

from ...accelerator import current
from ...core.aten import aten
from ...core.device import Device
from ...core.dtypes import CATEGORY, finfo, python_number, result_dtype
from ...core.storage import storage_of, storages
from ...engine.grad_mode import is_grad_enabled
from ...engine.hooks import check
from ...engine.tensor import Tensor, bump_version, wrap

__all__ = [
    "as_mask", "as_tensors", "axes", "conj", "device_like", "dimension", "failed",
    "filling", "in_format", "in_layout_of", "into", "laid_alike", "laid_as", "laid_first",
    "legacy_reduction", "memory_of", "not_tensors", "on_cpu", "python_number", "refuse_overlap",
    "refuse_shared", "refused", "same_kind", "sizes", "write", "zeros_beside",
]  # fmt: skip
Array = Any


def dimension(dim: int, ndim: int) -> int:
    """Return `dim` counted from the front; IndexError if there is no such dimension."""
    size = ndim or 1
    if not -size <= dim < size:
        wanted = f"expected to be in range of [{-size}, {size - 1}], but got {dim}"
        raise IndexError(f"Dimension out of range ({wanted})")
    return dim % size


def axes(dim: Any, ndim: int) -> Any:
    """`dim` as numpy's axis: None, an int or a tuple. No dimensions at all means all of them."""
    if dim is None:
        return None
    if isinstance(dim, (int, np.integer)):
        found = dimension(int(dim), ndim)
        return found if ndim else None
    several = tuple(dimension(d, ndim) for d in dim)
    if len(set(several)) < len(several):
        raise RuntimeError("a dim appears multiple times in the list of dims")
    return (several or None) if ndim else None


def sizes(args: Any) -> tuple[int, ...]:
    """Sizes given as `f(2, 3)` or `f((2, 3))`."""
    if isinstance(args, (int, np.integer)):
        return (int(args),)
    if len(args) == 1 and not isinstance(args[0], (int, np.integer, Tensor)):
        args = args[0]
    return tuple([index(a) for a in args])


def conj(x: Any) -> Any:
    """Return the complex conjugate of a tensor, array or number; a real one is its own."""
    if x.__class__ is np.ndarray or x.__class__ is Tensor:
        return x.conj() if getattr(x, "array", x).dtype.kind == "c" else x
    if isinstance(x, complex):
        return x.conjugate()
    return x.conj() if hasattr(x, "dtype") and x.dtype.kind == "c" else x


def as_mask(array: Array) -> Array:
    """Return a mask as it is; ValueError if it is not of bools (or bytes)."""
    if array.dtype.kind != "b" and array.dtype != np.uint8:
        raise ValueError(f"expected a mask of bools, got {array.dtype}")
    return array


def filling(value: Any, dtype: Any) -> Any:
    """Return a number, or an array of no dimension, as an array of a dtype.

    Raises:
        TypeError: it is neither.
        RuntimeError: it is a number that the dtype does not reach, or has not.
        OverflowError: it is an integer of more than 64 bits.
    """
    if value.__class__ in (int, float) and (
        0 <= value <= 127 or (dtype.char in "fdFD" and -9e18 < value < 9e18)
    ):  # all have the first, these the others
        return np.asarray(value, dtype)
    number, inside = value.item() if getattr(value, "ndim", 1) == 0 else value, True
    if not isinstance(number, _NUMBER):
        raise refused(f"the value must be a number, not {type(value).__name__}")
    if isinstance(number, int) and not -(2**63) <= number < 2**64:
        raise refused("int too big to convert", OverflowError)
    if isinstance(number, complex) and dtype.kind not in "bc":
        inside = number.imag == 0
        number = number.real
    if isinstance(number, (int, float)) and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        wraps = dtype.kind == "u" and isinstance(number, int)
        inside = inside and (-limits.max if wraps else limits.min) <= number <= limits.max
    elif isinstance(number, _NUMBER) and dtype.kind in "fVc":
        parts, most = (number.real, number.imag), float(finfo(dtype).max)
        inside = inside and all(not math.isfinite(x) or abs(x) <= most for x in parts)
    if not inside:  # to name a dtype takes long
        raise RuntimeError(f"value cannot be converted to type {dtype} without overflow")
    return np.asarray(number).astype(dtype)


_NUMBER = (bool, int, float, complex)
_OF_NUMBERS = {f"aten::{name}" for name in "add sub mul div floor_divide true_divide".split()}
_OF_NUMBERS.add("where")


def as_tensors(name: str, *operands: Any) -> tuple[Tensor, ...]:
    """Return numbers and arrays as tensors; TypeError for what is neither."""
    found = []
    arrays = [x.array for x in operands if isinstance(x, Tensor)]
    if not arrays and name not in _OF_NUMBERS and all(isinstance(x, _NUMBER) for x in operands):
        raise TypeError(f"{name.partition('::')[2]}(): one of the operands must be a Tensor")
    for operand in operands:
        x = python_number(operand)
        if isinstance(x, Tensor):
            found.append(x)
        elif isinstance(x, _NUMBER):
            dtype = result_dtype(x, *arrays)
            if isinstance(x, int) and (
                dtype.kind not in "iu" or not np.iinfo(dtype).min <= x <= np.iinfo(dtype).max
            ):
                dtype = result_dtype(x)  # with all its digits
            found.append(wrap(np.asarray(x, dtype)))
        elif isinstance(x, np.ndarray):
            found.append(wrap(x))
        else:
            raise TypeError(f"{name}: expected a Tensor or a number, got {type(x).__name__}")
    return tuple(found)


def not_tensors(name: str, *given: Any) -> TypeError:
    """Return the error for arguments of which one is no tensor."""
    place, wrong = next((i, x) for i, x in enumerate(given) if not isinstance(x, Tensor))
    name = name.partition("::")[2]
    return TypeError(f"{name}(): argument {place + 1} must be Tensor, not {type(wrong).__name__}")


def refused(message: str, kind: type[Exception] = TypeError) -> Exception:
    """Mark an error that is raised inside an operator and stays as it is."""
    made: Any = kind(message)
    made.stays = True
    return made


def failed(name: str, error: Exception, *operands: Any) -> Exception:
    """Numpy's complaint, in PyTorch's words where it is about shapes that do not broadcast."""
    if hasattr(error, "stays"):
        return error
    shapes = [np.shape(x)[::-1] for x in operands if isinstance(x, np.ndarray)]
    if "broadcast" in str(error) and len(shapes) == 2:
        for place, (a, b) in enumerate(zip(*shapes)):  # noqa: B905  (the shorter one decides)
            if a != b and 1 not in {a, b}:
                what = f"tensor a ({a}) must match the size of tensor b ({b})"
                where = f"non-singleton dimension {max(map(len, shapes)) - 1 - place}"
                return RuntimeError(f"The size of {what} at {where}")
    return (IndexError if isinstance(error, IndexError) else RuntimeError)(f"{name}: {error}")


def on_cpu(device: Any) -> None:
    """Refuse other devices; modelled ones are taken out by their dispatcher before."""
    if device is None or (device.__class__ is Device and device == "cpu"):
        return
    if Device(device).type != "cpu":
        raise RuntimeError(current().no_such_device(str(device)))


def zeros_beside(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Zeros with the dtype and on the device of a tensor."""
    device = device_like(like)
    if device is None:
        return wrap(np.zeros(shape, like.array.dtype))
    found: Tensor = aten.zeros(shape, dtype=like.array.dtype, device=device)
    return found


def device_like(tensor: Tensor) -> Any:
    """Return the device that a tensor is on; None of the CPU."""
    storage = storage_of(tensor) if storages else None
    return None if storage is None else Device("cuda", storage.device)


_LAST = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}


def in_format(array: Array, memory_format: Any, copy: bool = True) -> Array:
    """Return an array in a memory format; with `copy` always a copy."""
    if memory_format in (None, "preserve_format", "contiguous_format"):
        plain = memory_format == "contiguous_format" or 0 in array.strides  # expanded
        order: Any = "C" if plain else "K"
        return array.copy(order) if copy else np.asarray(array, order=order)
    order = _LAST[memory_format]
    wanted = f"required rank {len(order)} tensor to use {memory_format} format"
    check(array.ndim == len(order), wanted)
    turned = array.transpose(order)
    back = (0, len(order) - 1, *range(1, len(order) - 1))
    return (turned.copy() if copy else np.ascontiguousarray(turned)).transpose(back)


def last_format(array: Array) -> str:
    """Return `channels_last` (or `channels_last_3d`) if the array is so laid out, else nothing."""
    word = {4: "channels_last", 5: "channels_last_3d"}.get(array.ndim, "")
    if not word or array.flags.c_contiguous:
        return ""
    return word if array.transpose(_LAST[word]).flags.c_contiguous else ""


def suggested_format(array: Array) -> str:
    """Return the format that PyTorch suggests for results: `channels_last` of parts of it, too."""
    word, least = {4: "channels_last", 5: "channels_last_3d"}.get(array.ndim, ""), 0
    if not word or array.flags.c_contiguous:
        return last_format(array)
    for dim in reversed(_LAST[word]):
        stride, size = array.strides[dim], array.shape[dim]
        if size == 0 or stride < least or (dim == 0 and least == array.strides[1]):
            return ""
        least = stride * size
    return word


def laid_alike(made: Array, arrays: Any) -> Array:
    """Return a result in channels_last if that is suggested for all operands, else contiguous."""
    word, *others = map(suggested_format, arrays) if made.ndim > 3 else [""]
    alike = word and all(other == word for other in others)
    return in_format(made, word if alike else "contiguous_format", copy=False)


def in_layout_of(given: Tensor, made: Tensor) -> Tensor:
    """Return a result in channels_last if the operand is: what follows keeps to that."""
    word = last_format(given.array)
    found: Tensor = made.contiguous(memory_format=word) if word else made
    return found


def laid_as(made: Array, *operands: Array) -> Array:
    """Return a result in the order of the first operand in channels_last, if there is one."""
    word = next(filter(None, map(last_format, operands)), "")
    return in_format(made, word, copy=False) if word else made


def laid_first(made: Array, first: Array) -> Array:
    """Return a result of several layouts in that of the first operand."""
    if not made.flags.c_contiguous or made.shape != first.shape:
        return made
    return laid_as(made, first)


def legacy_reduction(size_average: Any, reduce: Any) -> str:
    """Return what the two old arguments of losses mean."""
    what = "size_average and reduce args will be deprecated, please use reduction="
    found = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(f"{what}{found!r} instead.", stacklevel=3)
    return found


_JOINS = {f"aten::{name}" for name in "cat stack hstack vstack".split()}
_APART = _JOINS | {
    f"aten::{name}"
    for name in "gather index_select masked_select multinomial take take_along_dim".split()
}  # they may not write to what they read, not even to all of it


def into(name: str, out: Any, result: Any, given: Any = (), strict: bool = False) -> Any:
    """Write a result to the tensors that the caller gave for it, which become of its size.

    Args:
        given: the operator's arguments, which must not share a part of their memory with `out`.
        strict: `out` has to be of the result's dtype.
    """
    if isinstance(result, tuple):
        pairs = zip(out, result, strict=True)
        made = [into(name, one, each, given, strict) for one, each in pairs]
        return result.__class__(*made) if hasattr(result, "_fields") else tuple(made)
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}: argument 'out' must be Tensor, not {type(out).__name__}")
    told = "functions with out=... arguments don't support automatic differentiation"
    check(not (result.requires_grad or (out.requires_grad and is_grad_enabled())), told)
    target = out.array
    refuse_shared(target)
    fits = not strict or target.dtype == result.array.dtype
    check(fits, f"Expected out tensor to have dtype {result.array.dtype}, but got {target.dtype}")
    for x in itertools.chain(*(x if isinstance(x, (list, tuple)) else [x] for x in given)):
        if isinstance(x, Tensor):
            refuse_overlap(target, x.array, name)
    try:
        same_kind(name, target, result.array)
    except RuntimeError as error:
        raise (TypeError if name in _JOINS else RuntimeError)(*error.args) from None
    if target.shape != result.array.shape:
        if target.size:
            what = f"An output of shape {target.shape} was resized to {result.array.shape}"
            warnings.warn(f"{what}: it had elements", stacklevel=3)
        out.array = target = np.empty(result.array.shape, target.dtype)
    target[...] = result.array
    bump_version(out)
    return out


def refuse_overlap(target: Array, read: Array, name: str = "") -> None:
    """Refuse to read the memory that is written to, but dense arrays at the same elements."""
    if not np.may_share_memory(read, target) or memory_of(read) is not memory_of(target):
        return
    same = read.ctypes.data == target.ctypes.data
    same = same and (read.shape, read.strides) == (target.shape, target.strides)
    dense = is_dense(read) and is_dense(target)
    told = "some elements of the input tensor and the written-to tensor refer to a single location"
    apart = name not in _APART and (same or not dense)
    check(apart, f"unsupported operation: {told} in memory. Please clone() the tensor before.")


def memory_of(array: Array, dtype: Any = None) -> Array:
    """Return the array that owns the memory; each `torch.from_numpy` makes one of its own.

    Args:
        dtype: the last array of this dtype, on the way there, is returned.
    """
    below = array
    while (below := getattr(below, "base", None)) is not None:  # as_strided puts others between
        if isinstance(below, np.ndarray) and dtype in (None, below.dtype):
            array = below
    return array


def is_dense(array: Array) -> bool:
    """Tell whether the elements fill a piece of memory, in any order of the dimensions."""
    if array.flags.forc:
        return True
    order = np.argsort([abs(s) for s in array.strides], kind="stable")
    return bool(array.transpose(order[::-1]).flags.c_contiguous)


def same_kind(name: str, target: Array, *others: Any) -> None:
    """Refuse to write floats to integers, and the like."""
    for other in others:
        if other is None or other.__class__ is bool or getattr(other, "dtype", 0) is target.dtype:
            continue
        found = result_dtype(target, other)
        if CATEGORY[found.kind] > CATEGORY[target.dtype.kind]:
            wanted = f"the desired output type {target.dtype}"
            raise RuntimeError(f"{name}: result type {found} can't be cast to {wanted}")


def refuse_shared(target: Array) -> None:
    """Refuse to write to what was expanded."""
    twice = any(s == 0 and n > 1 for s, n in zip(target.strides, target.shape, strict=True))
    told = "more than one element of the written-to tensor refers to a single memory location"
    check(not (twice and target.size), f"unsupported operation: {told}. Please clone() it first.")


def write(name: str, target: Array, result: Array) -> None:
    """Put an in-place operator's result where it belongs."""
    if np.shape(result) != target.shape:
        shapes = f"{list(target.shape)} doesn't match the broadcast shape {list(np.shape(result))}"
        raise ValueError(f"output with shape {shapes}")
    if target.dtype.kind in "bui" and np.asarray(result).dtype.kind in "fc":
        raise RuntimeError(f"{name}: a floating result can't be cast to {target.dtype}")
    if 0 in target.strides:  # what shares its memory becomes what was changed
        changed = np.not_equal(target, result)
        target[changed] = result[changed]
    else:
        target[...] = result
