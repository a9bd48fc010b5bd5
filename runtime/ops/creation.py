"""Making tensors. Source: torch/_torch_docs.py, aten/src/ATen/native/TensorFactories.cpp."""

# ruff: noqa: ARG001  (`device` is accepted; there is one)
# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import get_default_dtype, result_dtype
from ..record_function import active
from ..tensor import Tensor, wrap
from .table import interpose
from .views import sizes


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
        """Start the stream anew."""
        self._seed = seed
        self._stream = None
        return self


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Start the default stream anew."""
    return default_generator.manual_seed(seed)


def _made(name: str, make: Any, dtype: Any, requires_grad: bool) -> Tensor:
    kind = np.dtype(get_default_dtype() if dtype is None else dtype)
    found: Tensor = interpose(name, lambda: wrap(make(kind)), ()) if active else wrap(make(kind))
    if requires_grad:
        found.requires_grad = True
    return found


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros."""
    return _made("aten::zeros", lambda k: np.zeros(sizes(size), k), dtype, requires_grad)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones."""
    return _made("aten::ones", lambda k: np.ones(sizes(size), k), dtype, requires_grad)


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Whatever the memory holds."""
    return _made("aten::empty", lambda k: np.empty(sizes(size), k), dtype, requires_grad)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """One value."""
    kind = result_dtype(fill_value) if dtype is None else dtype
    return _made(
        "aten::full", lambda k: np.full(sizes((size,)), fill_value, k), kind, requires_grad
    )


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """From `start` to before `end`; int64 if all are integers."""
    if end is None:
        start, end = 0, start
    kind = result_dtype(start, end, step) if dtype is None else dtype
    return _made("aten::arange", lambda k: np.arange(start, end, step, k), kind, requires_grad)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` numbers, evenly spaced, both ends included."""
    return _made(
        "aten::linspace", lambda k: np.linspace(start, end, steps, dtype=k), dtype, requires_grad
    )


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones on the diagonal."""
    return _made("aten::eye", lambda k: np.eye(n, m, dtype=k), dtype, requires_grad)


def rand(
    *size: Any,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform in [0, 1)."""
    stream = (generator or default_generator).stream
    return _made("aten::rand", lambda k: stream.random(sizes(size)).astype(k), dtype, requires_grad)


def randn(
    *size: Any,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal, of mean 0 and variance 1."""
    stream = (generator or default_generator).stream
    return _made(
        "aten::randn", lambda k: stream.standard_normal(sizes(size)).astype(k), dtype, requires_grad
    )


def randint(
    low: int,
    high: Any,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """Integers from `low` to before `high`."""
    if size is None:
        low, high, size = 0, low, high
    stream = (generator or default_generator).stream
    kind = np.int64 if dtype is None else dtype
    return _made(
        "aten::randint", lambda k: stream.integers(low, high, sizes((size,))).astype(k), kind, False
    )


def randperm(n: int, *, generator: Generator | None = None, dtype: Any = None) -> Tensor:
    """The integers before `n`, in random order."""
    stream = (generator or default_generator).stream
    kind = np.int64 if dtype is None else dtype
    return _made("aten::randperm", lambda k: stream.permutation(n).astype(k), kind, False)


def _like(make: Any) -> Any:
    def call(
        input: Tensor,  # noqa: A002
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """As the function without `_like`, with the shape and dtype of `input`."""
        kind = input.array.dtype if dtype is None else dtype
        found: Tensor = make(input.array.shape, *args, dtype=kind, requires_grad=requires_grad)
        return found

    return call


zeros_like, ones_like, empty_like = _like(zeros), _like(ones), _like(empty)
full_like, rand_like, randn_like = _like(full), _like(rand), _like(randn)


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A copy of numbers, lists of them, arrays or tensors. Floats get the default dtype."""
    if isinstance(data, Tensor):
        data = data.array
    elif isinstance(data, (list, tuple)):
        data = _plain(data)
    array = np.array(data, dtype=dtype)
    if dtype is None and not isinstance(data, (np.ndarray, np.generic)):
        if array.dtype.kind == "f":
            array = array.astype(get_default_dtype())
        elif array.dtype.kind == "c":
            array = array.astype(result_dtype(1j))
        elif not array.size:
            array = array.astype(get_default_dtype())
    if array.dtype.kind in "OUS":
        raise TypeError(f"cannot make a tensor of {type(data).__name__} with dtype {array.dtype}")
    found = wrap(array)
    if requires_grad:
        found.requires_grad = True
    return found


def _plain(data: Any) -> Any:
    return [
        x.array if isinstance(x, Tensor) else _plain(x) if isinstance(x, (list, tuple)) else x
        for x in data
    ]


def from_numpy(array: Any) -> Tensor:
    """A tensor that shares the array's memory."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    return wrap(array)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, without copying where that is possible."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray) and (dtype is None or data.dtype == dtype):
        return wrap(data)
    return tensor(data, dtype=dtype)
