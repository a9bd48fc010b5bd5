"""Making tensors. Source: torch/_torch_docs.py, aten/src/ATen/native/TensorFactories.cpp."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..dtypes import get_default_dtype, result_dtype
from ..record_function import active
from ..storage import accelerator, pin
from ..tensor import Tensor, wrap
from .arguments import device_like, sizes
from .table import aten, declare, function


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
    if accelerator:  # drawing them is a part of the kernel
        scale = accelerator[0].uncounted(_kept, self.array.shape, p)
    else:
        scale = _kept(self.array.shape, p)
    return aten.native_dropout_masked(self, wrap(scale.astype(self.array.dtype)))


def _dtype(dtype: Any, *numbers: Any) -> Any:
    """The one asked for; else that of the numbers, else the default."""
    if dtype is not None:
        return np.dtype(dtype)
    given = [getattr(n, "array", n) for n in numbers]
    return result_dtype(*given) if given else get_default_dtype()


def _random(draw: Any, size: tuple[int, ...], dtype: Any) -> Any:
    """Drawn as float32 or float64."""
    kind = _dtype(dtype)
    found = draw(size, kind if kind in (np.float32, np.float64) else np.float32)
    return found.astype(kind, copy=False)


def _normal(mean: Any, std: Any, size: Any, dtype: Any, generator: Any) -> Any:
    given = [x.array for x in (mean, std) if isinstance(x, Tensor)]
    mean, std = (getattr(x, "array", x) for x in (mean, std))
    found = np.asarray(_draws(generator).normal(mean, std, None if size is None else sizes(size)))
    return found.astype(_dtype(dtype, *given))


def _chances(input: Any) -> Any:
    if input.dtype.kind != "f" or (input < 0).any() or (input > 1).any():
        raise ValueError("Expected floating p_in >= 0 && p_in <= 1")
    return input


def _chosen(input: Any, count: int, replacement: bool, draws: Any) -> Any:
    if input.dtype.kind != "f" or (input < 0).any():
        raise ValueError("multinomial expects floating probabilities that are not negative")
    rows = np.atleast_2d(input.astype(np.float64))
    chances = rows / rows.sum(1, keepdims=True)
    found = np.stack([draws.choice(rows.shape[1], count, replacement, p) for p in chances])
    return found[0] if input.ndim == 1 else found


declare(
    globals(),
    r"""
[torch make]
zeros(*size: sizes) = np.zeros(size, _dtype(dtype))
ones(*size: sizes) = np.ones(size, _dtype(dtype))
empty(*size: sizes) = np.empty(size, _dtype(dtype))
rand(*size: sizes) = _random(_draws(generator).random, size, dtype)
randn(*size: sizes) = _random(_draws(generator).standard_normal, size, dtype)
full(size: sizes, fill_value: any)
    = np.full(size, getattr(fill_value, "array", fill_value), _dtype(dtype, fill_value))
linspace(start: any, end: any, steps: int) = np.linspace(start, end, steps, dtype=_dtype(dtype))
eye(n: int, m: any = None) = np.eye(n, m, dtype=_dtype(dtype))
randint.of(low: int, high: int, size: sizes)
    = _draws(generator).integers(low, high, size).astype(dtype or np.int64)
randperm(n: int) = _draws(generator).permutation(n).astype(dtype or np.int64)
normal(mean: any, std: any = 1.0, size: any = None) = _normal(mean, std, size, dtype, generator)
arange.of(start: any, end: any, step: any)
    = np.arange(start, end, step, _dtype(dtype, start, end, step))
[torch]
multinomial(self, num_samples: int, replacement: bool = False, *, generator: any = None)
    = _chosen(self, num_samples, replacement, _draws(generator))
bernoulli(self, *, generator: any = None)
    = (_draws(generator).random(self.shape) < _chances(self)).astype(self.dtype)
[only_in_place]
normal.fill(self, mean: any = 0.0, std: any = 1.0, *, generator: any = None)
    = _draws(generator).normal(mean, std, self.shape) => grad * 0
uniform(self, a: any = 0.0, b: any = 1.0, *, generator: any = None)
    = _draws(generator).uniform(a, b, self.shape) => grad * 0
exponential(self, lambd: any = 1.0, *, generator: any = None)
    = _draws(generator).exponential(1 / lambd, self.shape) => grad * 0
[]
native_dropout.masked(self, mask) = self * mask => grad * mask
[nn]
dropout(self, p: float = 0.5, training: bool = True, inplace: bool = False)
    := self.copy_(_dropout(self, p, training)) if inplace else _dropout(self, p, training)
""",
)


_LIKE = """
{name}_like(self{more}, *, dtype = None, memory_format = None, device = None,
    requires_grad: bool = False, generator = None, pin_memory: bool = False)
    := {name}(self.array.shape{more}, dtype=self.array.dtype if dtype is None else dtype,
    device=device_like(self) if device is None else device, requires_grad=requires_grad,
    generator=generator, pin_memory=pin_memory)"""
for _name in ("zeros", "ones", "empty", "rand", "randn", "full"):
    _row = _LIKE.format(name=_name, more=", fill_value" if _name == "full" else "")
    declare(globals(), f"[torch]{_row}")


@function("torch")
def arange(start: Any, end: Any = None, step: Any = 1, **options: Any) -> Tensor:
    """From `start` to before `end`; int64 if all are integers."""
    start, end = (0, start) if end is None else (start, end)
    if step == 0 or (end - start) * step < 0:
        raise RuntimeError("step must be nonzero, and lead from start to end")
    return aten.arange_of(start, end, step, **options)


@function("torch")
def randint(low: int, high: Any, size: Any = None, **options: Any) -> Tensor:
    """Integers from `low` (0 if left out) to before `high`."""
    return aten.randint_of(*((0, low, high) if size is None else (low, high, size)), **options)


@function("torch")
def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A copy of numbers, lists of them, arrays or tensors. Floats get the default dtype."""
    if device is None and isinstance(data, Tensor):
        device = device_like(data)
    several = dtype is None and isinstance(data, (list, tuple)) and len(data)
    if several and all(isinstance(x, Tensor) for x in data):
        dtype = result_dtype(*[x.array for x in data])
    data = _plain(data)
    try:
        array = np.array(data, dtype=dtype)
    except ValueError as error:
        raise ValueError(f"expected a sequence of one shape: {error}") from None
    if dtype is None and not isinstance(data, (np.ndarray, np.generic)):
        if array.dtype.kind == "f" or not array.size:
            array = array.astype(get_default_dtype())
        elif array.dtype.kind == "c":
            array = array.astype(result_dtype(1j))
    if array.dtype.kind in "OUS":
        kind = RuntimeError if array.dtype.kind == "O" else TypeError
        raise kind(f"cannot make a tensor of {type(data).__name__} with dtype {array.dtype}")
    found = wrap(array)
    if pin_memory:
        pin(found)
    if device is not None:
        found = found.to(device)
        if active and found.device.type != "cpu":
            found = active[0].op("aten::lift_fresh", _itself, (found,))
    if requires_grad:
        found.requires_grad = True
    return found


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def _plain(data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return [_plain(x) for x in data]
    return data.cpu().array if isinstance(data, Tensor) else data


@function("torch")
def from_numpy(array: Any) -> Tensor:
    """A tensor that shares the array's memory."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    return wrap(array)


@function("torch")
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, without copying where that is possible."""
    if isinstance(data, Tensor):
        data = data if dtype is None else data.to(dtype)
        return data if device is None else data.to(device)
    same = isinstance(data, np.ndarray) and (dtype is None or data.dtype == dtype)
    found = wrap(data) if same else tensor(data, dtype=dtype)
    return found if device is None else found.to(device)
