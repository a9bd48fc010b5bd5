"""Arguments of operators in their standard form, and the errors of those that have none."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ..device import Device
from ..dtypes import result_dtype
from ..storage import storage_of, storages
from ..tensor import Tensor, wrap
from .table import aten

__all__ = [
    "as_mask", "as_tensors", "axes", "conj", "device_like", "dimension", "divisor", "failed",
    "not_tensors", "on_cpu", "same_kind", "sizes", "times", "write", "zeros_beside",
]  # fmt: skip
Array = Any


def dimension(dim: int, ndim: int) -> int:
    """`dim` counted from the front.

    Raises:
        IndexError: there is no such dimension.
    """
    size = ndim or 1
    if not -size <= dim < size:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], "
            f"but got {dim})"
        )
    return dim % size


def axes(dim: Any, ndim: int) -> Any:
    """`dim` as numpy's axis: None, an int or a tuple. No dimensions at all means all of them."""
    if dim is None:
        return None
    if isinstance(dim, int):
        found = dimension(dim, ndim)
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
    """The complex conjugate of a tensor, array or number; a real one is its own."""
    if x.__class__ is np.ndarray or x.__class__ is Tensor:
        return x.conj() if getattr(x, "array", x).dtype.kind == "c" else x
    if isinstance(x, complex):
        return x.conjugate()
    return x.conj() if hasattr(x, "dtype") and x.dtype.kind == "c" else x


def as_mask(array: Array) -> Array:
    """A mask as it is.

    Raises:
        ValueError: not of bools (or bytes).
    """
    if array.dtype.kind != "b" and array.dtype != np.uint8:
        raise ValueError(f"expected a mask of bools, got {array.dtype}")
    return array


def divisor(self: Array, other: Any) -> Any:
    """What integers are divided by.

    Raises:
        ValueError: there is a zero in it.
    """
    if self.dtype.kind in "biu" and not np.all(other):
        raise ValueError("ZeroDivisionError")
    return other


def times(other: Any, alpha: Any) -> Any:
    """`other * alpha`, in the dtype of an array.

    Raises:
        ValueError: a fraction of integers.
    """
    if not isinstance(other, np.ndarray):
        return other * alpha
    if other.dtype.kind in "biu" and isinstance(alpha, (float, complex)):
        raise ValueError("For integral input tensors, argument alpha must not be a floating point")
    return (other * alpha).astype(other.dtype, copy=False)


def as_tensors(name: str, *operands: Any) -> tuple[Tensor, ...]:
    """Numbers and arrays as tensors.

    Raises:
        TypeError: one is neither.
    """
    found = []
    arrays = [x.array for x in operands if isinstance(x, Tensor)]
    for x in operands:
        if isinstance(x, Tensor):
            found.append(x)
        elif isinstance(x, (float, complex)):
            found.append(wrap(np.asarray(x, result_dtype(x, *arrays))))
        elif isinstance(x, (bool, int)):
            found.append(wrap(np.asarray(x, result_dtype(x))))
        elif isinstance(x, (np.ndarray, np.generic)):
            found.append(wrap(x))
        else:
            raise TypeError(f"{name}: expected a Tensor or a number, got {type(x).__name__}")
    return tuple(found)


def not_tensors(name: str, *given: Any) -> TypeError:
    """The error for arguments of which one is no tensor."""
    place, wrong = next((i, x) for i, x in enumerate(given) if not isinstance(x, Tensor))
    name = name.partition("::")[2]
    return TypeError(f"{name}(): argument {place + 1} must be Tensor, not {type(wrong).__name__}")


def failed(name: str, error: Exception, *operands: Any) -> Exception:
    """Numpy's complaint, in PyTorch's words where it is about shapes that do not broadcast."""
    shapes = [np.shape(x)[::-1] for x in operands if isinstance(x, np.ndarray)]
    if "broadcast" in str(error) and len(shapes) == 2:
        for place, (a, b) in enumerate(zip(*shapes)):  # noqa: B905  (the shorter one decides)
            if a != b and 1 not in {a, b}:
                return RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at "
                    f"non-singleton dimension {max(map(len, shapes)) - 1 - place}"
                )
    return (IndexError if isinstance(error, IndexError) else RuntimeError)(f"{name}: {error}")


def on_cpu(device: Any) -> None:
    """Refuse any other device: where there are modelled ones, their dispatcher takes it out.

    Raises:
        RuntimeError: it is not the CPU.
    """
    if device is None or (device.__class__ is Device and device == "cpu"):
        return
    if Device(device).type != "cpu":
        from ..cuda.state import no_such_device

        raise RuntimeError(no_such_device(str(device)))


def zeros_beside(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Zeros with the dtype and on the device of a tensor."""
    device = device_like(like)
    if device is None:
        return wrap(np.zeros(shape, like.array.dtype))
    found: Tensor = aten.zeros(shape, dtype=like.array.dtype, device=device)
    return found


def device_like(tensor: Tensor) -> Any:
    """The device that a tensor is on; None of the CPU."""
    storage = storage_of(tensor) if storages else None
    return None if storage is None else Device("cuda", storage.device)


def same_kind(name: str, target: Array, *others: Any) -> None:
    """Refuse to write floats to integers, and the like."""
    for other in others:
        if other is None or other.__class__ is bool or getattr(other, "dtype", 0) is target.dtype:
            continue
        found, order = result_dtype(target, other), "buifVc"
        if order.index(found.kind.replace("u", "i").replace("V", "f")) > order.index(
            target.dtype.kind.replace("u", "i").replace("V", "f")
        ):
            raise RuntimeError(
                f"{name}: result type {found} can't be cast to the desired output type "
                f"{target.dtype}"
            )


def write(name: str, target: Array, result: Array) -> None:
    """Put an in-place operator's result where it belongs."""
    if np.shape(result) != target.shape:
        raise ValueError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(np.shape(result))}"
        )
    if target.dtype.kind in "bui" and np.asarray(result).dtype.kind in "fc":
        raise RuntimeError(f"{name}: a floating result can't be cast to {target.dtype}")
    target[...] = result
