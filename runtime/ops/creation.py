"""Making tensors. Source: torch/_torch_docs.py, aten/src/ATen/native/TensorFactories.cpp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import get_default_dtype, result_dtype
from ..grad_mode import is_grad_enabled
from ..record_function import active
from ..tensor import Tensor, bump_version, wrap
from .arguments import sizes
from .observe import interpose
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
        """Start the stream anew."""
        self._seed = seed % 2**64
        self._stream = None
        return self

    def initial_seed(self) -> int:
        """What the stream was last started with."""
        return self._seed

    def seed(self) -> int:
        """Start the stream anew, from a seed of the system's."""
        self.manual_seed(int.from_bytes(__import__("os").urandom(8), "little"))
        return self._seed

    def get_state(self) -> Any:
        """All there is to know of where the stream stands."""
        return self._seed, self.stream.bit_generator.state

    def set_state(self, state: Any) -> Generator:
        """Go on from where `get_state` was called."""
        self._seed = state[0]
        self._stream = np.random.default_rng(0)
        self._stream.bit_generator.state = state[1]
        return self


default_generator = Generator()
get_rng_state, set_rng_state = default_generator.get_state, default_generator.set_state
initial_seed, seed = default_generator.initial_seed, default_generator.seed


@function("torch")
def manual_seed(seed: int) -> Generator:
    """Start the default stream anew."""
    return default_generator.manual_seed(seed)


def _stream(generator: Generator | None) -> np.random.Generator:
    return (generator or default_generator).stream


def _made(name: str, make: Callable[[Any], Any], dtype: Any, requires_grad: bool = False) -> Tensor:
    kind = np.dtype(get_default_dtype() if dtype is None else dtype)
    found: Tensor = interpose(name, lambda: wrap(make(kind)), ()) if active else wrap(make(kind))
    if requires_grad:
        found.requires_grad = True
    return found


def _of_size(name: str, make: Callable[..., Any]) -> None:
    """A function of sizes: `make(shape, dtype, stream)`; and its `_like`."""

    def call(
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        generator: Generator | None = None,
    ) -> Tensor:
        size = sizes(size)
        if any(s < 0 for s in size):
            raise RuntimeError(f"Trying to create tensor with negative dimension: {list(size)}")
        return _made(f"aten::{name}", lambda k: make(size, k, generator), dtype, requires_grad)

    def like(
        input: Tensor,  # noqa: A002
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        kind = input.array.dtype if dtype is None else dtype
        shape = input.array.shape
        return _made(f"aten::{name}_like", lambda k: make(shape, k, None), kind, requires_grad)

    call.__name__, like.__name__ = name, f"{name}_like"
    call.__doc__ = f"{_DOCS[name]}, of shape `size`."
    like.__doc__ = f"{_DOCS[name]}, of the shape and dtype of `input`."
    function("torch")(call)
    function("torch")(like)


_DOCS = {
    "zeros": "Zeros",
    "ones": "Ones",
    "empty": "Whatever the memory holds",
    "rand": "Uniform in [0, 1)",
    "randn": "Normal, of mean 0 and variance 1",
}
_of_size("zeros", lambda size, kind, _: np.zeros(size, kind))
_of_size("ones", lambda size, kind, _: np.ones(size, kind))
_of_size("empty", lambda size, kind, _: np.empty(size, kind))
_of_size("rand", lambda size, kind, g: _uniform(size, kind, g))
_of_size("randn", lambda size, kind, g: _normal(size, kind, g))


def _uniform(size: Any, kind: Any, generator: Generator | None) -> Any:
    draws = kind if kind in (np.float32, np.float64) else np.float32
    return _stream(generator).random(size, draws).astype(kind, copy=False)


def _normal(size: Any, kind: Any, generator: Generator | None) -> Any:
    draws = kind if kind in (np.float32, np.float64) else np.float32
    return _stream(generator).standard_normal(size, draws).astype(kind, copy=False)


@function("torch")
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
    value = fill_value.array if isinstance(fill_value, Tensor) else fill_value
    return _made("aten::full", lambda k: np.full(sizes((size,)), value, k), kind, requires_grad)


@function("torch")
def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:  # noqa: A002
    """One value, in the shape and dtype of `input`."""
    return full(input.array.shape, fill_value, dtype=dtype or input.array.dtype)


@function("torch")
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


@function("torch")
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


@function("torch")
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


@function("torch")
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
    kind = np.int64 if dtype is None else dtype
    draw = _stream(generator).integers
    return _made("aten::randint", lambda k: draw(low, high, sizes((size,))).astype(k), kind)


@function("torch")
def randperm(n: int, *, generator: Generator | None = None, dtype: Any = None) -> Tensor:
    """The integers before `n`, in random order."""
    kind = np.int64 if dtype is None else dtype
    return _made("aten::randperm", lambda k: _stream(generator).permutation(n).astype(k), kind)


@function("torch")
def multinomial(
    input: Tensor,  # noqa: A002
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Indices drawn with probabilities in proportion to each row's weights."""
    rows = np.atleast_2d(input.array.astype(np.float64))
    draw = _stream(generator).choice
    chances = rows / rows.sum(1, keepdims=True)
    n = rows.shape[1]
    found = np.stack([draw(n, num_samples, replacement, p) for p in chances])
    return _made(
        "aten::multinomial", lambda k: found[0] if input.array.ndim == 1 else found, np.int64
    )


@function("torch")
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A copy of numbers, lists of them, arrays or tensors. Floats get the default dtype."""
    if isinstance(data, Tensor):
        data = data.array
    elif isinstance(data, (list, tuple)):
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
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray) and (dtype is None or data.dtype == dtype):
        return wrap(data)
    return tensor(data, dtype=dtype)


# Drawn in place.


def _drawn(name: str, draw: Callable[..., Any], *defaults: Any) -> None:
    def call(self: Tensor, *args: Any, generator: Generator | None = None, **kwargs: Any) -> Tensor:
        given = (*args, *kwargs.values(), *defaults[len(args) + len(kwargs) :])

        def run(self: Tensor) -> Tensor:
            if self._rg and self._node is None and is_grad_enabled():
                raise RuntimeError(
                    "a leaf Variable that requires grad is being used in an in-place operation."
                )
            self.array[...] = draw(_stream(generator), self.array.shape, *given)
            bump_version(self)
            return self

        found: Tensor = interpose(f"aten::{name}", run, (self,)) if active else run(self)
        return found

    call.__name__, call.__doc__ = name, f"Filled anew: {name.rstrip('_')} with {defaults}."
    function("tensor")(call)


_drawn("normal_", lambda g, size, mean, std: g.normal(mean, std, size), 0.0, 1.0)
_drawn("uniform_", lambda g, size, low, high: g.uniform(low, high, size), 0.0, 1.0)
_drawn("bernoulli_", lambda g, size, p: g.random(size) < p, 0.5)
_drawn("exponential_", lambda g, size, rate: g.exponential(1 / rate, size), 1.0)


@function("torch")
def bernoulli(input: Tensor, *, generator: Generator | None = None) -> Tensor:  # noqa: A002
    """1 with the probability that `input` says, else 0."""
    drawn = _stream(generator).random(input.array.shape) < input.array
    return _made("aten::bernoulli", lambda k: drawn.astype(k), input.array.dtype)


@function("torch")
def normal(mean: float, std: float, size: Any, *, generator: Generator | None = None) -> Tensor:
    """Normal, of that mean and standard deviation."""
    draw = _stream(generator).normal
    return _made("aten::normal", lambda k: draw(mean, std, sizes((size,))).astype(k), None)


@function("nn")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:  # noqa: A002
    """Elements zeroed with probability `p`, the others scaled by 1 / (1 - p)."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    keep = default_generator.stream.random(input.array.shape, np.float32) >= p
    scale = keep * input.array.dtype.type(0 if p == 1 else 1 / (1 - p))
    found = aten.native_dropout_masked(input, wrap(scale.astype(input.array.dtype)))
    return aten.copy_(input, found) if inplace else found


declare(
    globals(),
    r"""
[]
native_dropout.masked(self, mask) = self * mask => grad * mask
""",
)
