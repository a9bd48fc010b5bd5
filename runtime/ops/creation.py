"""Making tensors. Source: torch/_torch_docs.py, aten/src/ATen/native/TensorFactories.cpp."""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from operator import index
from typing import Any

import numpy as np

from ..accelerator import current
from ..core.aten import aten
from ..core.dtypes import (
    as_dtype,
    finfo,
    get_default_dtype,
    number_dtype,
    promote_types,
    result_dtype,
)
from ..core.storage import pin, storages
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from ..observe.arrangement import active, show_calls
from .drawing import bounds, chances, chosen, drawn_between  # noqa: F401  (of rows below)
from .make import declare, device_like, filling, function, in_format, refused, sizes


class Generator:
    """A stream of random numbers. (Seeds give other numbers than PyTorch's.)"""

    _stream: np.random.Generator | None

    def __init__(self, device: Any = None) -> None:
        self.manual_seed(0)

    @property
    def stream(self) -> np.random.Generator:
        """Made when first drawn from: numpy.random is slow to load."""
        if self._stream is None:
            self._stream = np.random.default_rng(self._seed)
        return self._stream

    def manual_seed(self, seed: int) -> Generator:
        self._seed = seed % 2**64
        self._stream = None
        return self

    def initial_seed(self) -> int:
        return self._seed

    def seed(self) -> int:
        return self.manual_seed(int.from_bytes(os.urandom(8), "little"))._seed

    def get_state(self) -> Any:
        return self._seed, self.stream.bit_generator.state

    def set_state(self, state: Any) -> Generator:
        self.manual_seed(state[0]).stream.bit_generator.state = state[1]
        return self


default_generator = Generator()
get_rng_state, set_rng_state = default_generator.get_state, default_generator.set_state
initial_seed, seed = default_generator.initial_seed, default_generator.seed
manual_seed = function("torch")(default_generator.manual_seed)


def _draws(generator: Generator | None) -> np.random.Generator:
    return (generator or default_generator).stream


def _kept(shape: tuple[int, ...], p: float) -> Any:
    keep = default_generator.stream.random(shape, np.float32) >= p
    return keep / (1 - p) if p < 1 else keep * 0


def _dropout(self: Tensor, p: float, training: bool) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return self
    told = f"result type Float can't be cast to the desired output type {self.array.dtype}"
    check(self.array.dtype.kind in "fcV" or p == 1, told)
    scale = current().uncounted(_kept, self.array.shape, p)  # to draw is a part of the kernel
    mask = wrap(scale.astype(self.array.dtype))
    return aten.native_dropout_masked(self, mask) if storages else aten.mul(self, mask)


def _dtype(dtype: Any, *numbers: Any) -> Any:
    """The one asked for; else that of the numbers, else the default."""
    if dtype is not None:
        return as_dtype(dtype)
    given = [n.array.item() if isinstance(n, Tensor) and not n.array.ndim else n for n in numbers]
    return result_dtype(*given) if given else get_default_dtype()


def _ends(start: Any, end: Any, dtype: Any) -> list[Any]:
    given = [getattr(x, "array", x) for x in (start, end)]
    check(not any(map(np.ndim, given)), "linspace only supports 0-dimensional ends", ValueError)
    return [filling(x, dtype).item() for x in given]


def _spaced(start: Any, end: Any, steps: int, dtype: Any) -> Any:
    """From both ends to the middle, so that both are met."""
    if not hasattr(steps, "__index__"):
        raise refused(f"linspace(): steps has to be an integer, not {steps!r}")
    steps = index(steps)
    check(steps >= 0, "number of steps must be non-negative", ValueError)
    first, last = _ends(start, end, dtype)
    place = np.arange(steps)
    step = (last - first) / max(steps - 1, 1)
    back = last - step * (steps - 1 - place)
    found = np.where(place < steps / 2, first + step * place, back)
    return (found if steps > 1 else found * 0 + first).astype(dtype)


def _ranged(start: Any, end: Any, step: Any, dtype: Any) -> Any:
    """How many is counted in double precision, and of numbers as they were given."""
    given: Any = [getattr(x, "array", x) for x in (start, end, step)]
    if dtype == np.int64:
        given = [int(x) for x in given]
    place = np.arange(np.ceil((given[1] - given[0]) / given[2]))
    first, by = (int(x) if dtype.kind in "iu" else float(x) for x in given[::2])
    place = place.astype(np.int64 if dtype.kind in "iu" else np.float64, copy=False)
    return (first + place * by).astype(dtype)


def _random(draw: Any, size: tuple[int, ...], dtype: Any) -> Any:
    """Drawn as float32 or float64."""
    kind = _dtype(dtype)
    found = draw(size, kind if kind in (np.float32, np.float64) else np.float32)
    return found.astype(kind, copy=False)


def _shares(draws: np.random.Generator, size: tuple[int, ...], dtype: Any) -> Any:
    """Draw from 0 to below 1, which a float32 may round to where the dtype has 16 bits."""
    kind = _dtype(dtype)
    if kind.kind not in "fV" or kind.itemsize != 2:
        return _random(draws.random, size, kind)
    step = float(finfo(kind).eps) / 2  # PyTorch's: what is apart just below 1
    return (np.floor(draws.random(size, np.float32) / step) * step).astype(kind)


def _normal(mean: Any, std: Any, size: Any, dtype: Any, generator: Any) -> Any:
    given = [x for x in (mean, std) if isinstance(x, np.ndarray)]
    found = np.asarray(_draws(generator).normal(mean, std, None if size is None else sizes(size)))
    return found.astype(_dtype(dtype, *given))


_ROWS = r"""
[torch make]
zeros(*size: sizes) = np.zeros(size, _dtype(dtype))
ones(*size: sizes) = np.ones(size, _dtype(dtype))
empty(*size: sizes, *, memory_format: any = None)
    = in_format(np.empty(size, _dtype(dtype)), memory_format, False)
rand(*size: sizes) = _shares(_draws(generator), size, dtype)
randn(*size: sizes) = _random(_draws(generator).standard_normal, size, dtype)
full(size: sizes, fill_value: any)
    = np.full(size, filling(getattr(fill_value, "array", fill_value), _dtype(dtype, fill_value)))
linspace(start: any, end: any, steps: int)
    = _spaced(start, end, steps, _dtype(dtype, 0.0, start, end))
logspace(start: any, end: any, steps: int, base: float = 10.0)
    = (base ** _spaced(*_ends(start, end, _dtype(dtype)), steps, np.dtype(np.float64))).astype(
    _dtype(dtype))
eye(n: int, m: any = None) = np.eye(n, m, dtype=_dtype(dtype))
randint.of(low: int, high: int, size: sizes)
    = _draws(generator).integers(*bounds(_dtype(dtype or np.int64), low, high), size).astype(
    _dtype(dtype or np.int64))
randperm(n: int) = _draws(generator).permutation(n).astype(_dtype(dtype or np.int64))
normal.of(mean: number, std: number, size: any) = _normal(mean, std, size, dtype, generator)
    mean: grad * 0
    std: grad * 0
arange.of(start: any, end: any, step: any)
    = _ranged(start, end, step, _dtype(dtype, start, end, step))
[torch tensor]
multinomial(self, num_samples: int, replacement: bool = False, *, generator: any = None)
    = chosen(self, num_samples, replacement, _draws(generator))
bernoulli(self, *, generator: any = None)
    = (_draws(generator).random(self.shape) < chances(self)).astype(self.dtype) => grad * 0
[torch]
poisson(self, generator: any = None) = np.asarray(_draws(generator).poisson(self), self.dtype)
    self: grad * 0
scalar_tensor(value, *, dtype = None, device = None, requires_grad: bool = False)
    := full((), value, dtype=get_default_dtype() if dtype is None else dtype, device=device,
    requires_grad=requires_grad)
[only_in_place]
bernoulli.fill(self, p: number = 0.5, *, generator: any = None)
    = _draws(generator).random(self.shape) < chances(np.asarray(p, np.float64)) => grad * 0
random(self, low: any = None, high: any = None, *, generator: any = None)
    = _draws(generator).integers(*bounds(self.dtype, low, high), self.shape) => grad * 0
normal.fill(self, mean: any = 0.0, std: any = 1.0, *, generator: any = None)
    = _draws(generator).normal(mean, std, self.shape) => grad * 0
uniform(self, a: any = 0.0, b: any = 1.0, *, generator: any = None)
    = drawn_between(_draws(generator), a, b, self) => grad * 0
exponential(self, lambd: any = 1.0, *, generator: any = None)
    = _draws(generator).exponential(1 / lambd, self.shape) => grad * 0
[]
native_dropout.masked(self, mask) = self * mask => grad * mask
[nn inplace]
dropout(self, p: float = 0.5, training: bool = True) := _dropout(self, p, training)
"""
declare(globals(), _ROWS)


def _laid_out(like: Tensor, memory_format: Any, made: Tensor) -> Tensor:
    """A tensor just made, its dimensions in memory in the order of those of another."""
    if (
        (like.array.flags.c_contiguous and memory_format in {None, "preserve_format"})
        or 0 in like.array.strides
        or memory_format == "contiguous_format"
    ):
        return made
    if memory_format in {"channels_last", "channels_last_3d"}:
        made.array = in_format(made.array, memory_format, False)
        return made
    steps = np.empty_like(like.array, np.bool_).strides
    order = np.argsort([-step for step in steps], kind="stable")
    made.array = made.array.reshape([made.array.shape[d] for d in order])
    made.array = made.array.transpose(np.argsort(order))
    return made


_LIKE = """
{name}_like(self{more}, *, dtype = None, memory_format = None, device = None,
    requires_grad: bool = False, generator = None, pin_memory: bool = False)
    := _laid_out(self, memory_format, {name}(self.array.shape{more},
    dtype=self.array.dtype if dtype is None else dtype,
    device=device_like(self) if device is None else device, requires_grad=requires_grad,
    generator=generator, pin_memory=pin_memory))"""
for _name in ("zeros", "ones", "empty", "rand", "randn", "full"):
    _row = _LIKE.format(name=_name, more=", fill_value" if _name == "full" else "")
    declare(globals(), f"[torch]{_row}")


@function("torch")
def arange(start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Tensor:
    """From `start` to before `end`; int64 if all are integers."""
    start, end = (0, start) if end is None else (start, end)
    if step == 0 or (end - start) * step < 0:
        raise RuntimeError("step must be nonzero, and lead from start to end")
    return aten.arange_of(start, end, step, **options)


@function("torch")
def randint(low: int = 0, high: Any = None, size: Any = None, **options: Any) -> Tensor:
    """Integers from `low` (0 if left out) to before `high`."""
    return aten.randint_of(*((0, low, high) if size is None else (low, high, size)), **options)


@function("torch")
def randint_like(input: Tensor, low: Any = 0, high: Any = None, **options: Any) -> Tensor:
    """Draw as `randint`, with the size, the dtype and the device of `input`."""
    options.pop("memory_format", None)
    usual = {"dtype": input.array.dtype, "device": device_like(input), **options}
    return randint(*((0, low) if high is None else (low, high)), input.array.shape, **usual)


@function("torch")
def normal(mean: Any, std: Any = 1.0, size: Any = None, **options: Any) -> Tensor:
    """Numbers around `mean`, on the device of `mean` or `std` if either is a tensor."""
    places = [device_like(x) for x in (mean, std) if isinstance(x, Tensor)]
    given = next((place for place in places if place is not None), None)
    return aten.normal_of(mean, std, size, **{"device": given, **options})


@function("torch")
def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Return a copy of numbers, lists of them, arrays or tensors. Floats get the default dtype."""
    if device is None and isinstance(data, Tensor):
        device = device_like(data)
    if isinstance(data, list) and data and isinstance(data[0], np.ndarray):
        what = "Creating a tensor from a list of numpy.ndarrays is extremely slow"
        warnings.warn(f"{what}; make one array of it with numpy.array() first", stacklevel=2)
    kinds, is_array = dict[Any, None](), isinstance(data, np.ndarray)
    data = _plain(data.cpu().array if isinstance(data, Tensor) else data, kinds)
    try:
        array = np.array(data, dtype=None if dtype is None else as_dtype(dtype))
    except ValueError as error:
        raise ValueError(f"expected a sequence of one shape: {error}") from None
    if array.dtype.kind in "OUS":
        kind = RuntimeError if array.dtype.kind == "O" else TypeError
        raise kind(f"cannot make a tensor of {type(data).__name__} with dtype {array.dtype}")
    if dtype is None:
        array = array.astype(_dtype_among(array, kinds), copy=False)
    found = wrap(array)
    if pin_memory:
        pin(found)
    if device is not None:
        found = found.to(device)
    if active:
        moves = () if found.device.type != "cpu" else ("aten::to",)  # else seen as it moved
        made = ("aten::lift_fresh", *moves) if is_array else (*moves, "aten::lift_fresh")
        show_calls(found, *made, "aten::detach_")
    if requires_grad:
        found.requires_grad = True
    return found


def _plain(data: Any, kinds: dict[Any, None]) -> Any:
    """Lists with numbers in place of tensors; dtypes are noted, of other numbers the classes."""
    if isinstance(data, (list, tuple)):
        return [_plain(x, kinds) for x in data]
    if isinstance(data, Tensor):
        one = "only one element tensors can be converted to Python scalars"
        check(data.array.size == 1, one, ValueError)
        kinds[data.array.dtype] = None
        return data.cpu().array.item()
    kinds[data.dtype if isinstance(data, (np.ndarray, np.generic)) else data.__class__] = None
    return data


def _dtype_among(array: Any, kinds: dict[Any, None]) -> Any:
    """The dtype of an array whose elements were of these dtypes and classes.

    Raises:
        ValueError: one of its integers has more than 64 bits with the sign.
    """
    own = array.dtype if array.dtype.kind not in "fc" else number_dtype(array.dtype.type(0).item())
    numbers = {bool: True, int: 1, float: 1.0, complex: 1j}
    each = [
        k if isinstance(k, np.dtype) else number_dtype(numbers[k]) if k in numbers else own
        for k in kinds
    ]
    found = functools.reduce(promote_types, each) if each else get_default_dtype()
    wide = found.kind in "biu" and (array.dtype.kind == "f" or array.dtype == np.uint64 != found)
    check(not wide, "Overflow when unpacking long long", ValueError)
    return found


def _sharing(array: Any) -> Tensor:
    """Return a tensor of the array's memory, and no other's where overlaps are looked for."""
    with contextlib.suppress(ValueError):  # bfloat16 is no dtype of buffers
        dense = array.size and array.flags.forc  # overlaps of others are not looked for
        array = np.asarray(memoryview(array)) if dense else array
    return wrap(array)


@function("torch")
def from_numpy(array: Any) -> Tensor:
    """Return a tensor that shares the array's memory."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    found = _sharing(array)
    if active:
        show_calls(found, "aten::lift_fresh")
    return found


@function("torch")
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, without copying where that is possible."""
    if isinstance(data, Tensor):
        data = data if dtype is None else data.to(dtype)
        return data if device is None else data.to(device)
    same = isinstance(data, np.ndarray) and (dtype is None or data.dtype == dtype)
    found = _sharing(data) if same else tensor(data, dtype=dtype)
    return found if device is None else found.to(device)
