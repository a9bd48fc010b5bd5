"""PyTorch's database of operators, asked of the runtime.

    python -m tests.oracle.op_db                     every entry, and a summary
    python -m tests.oracle.op_db matmul linalg.norm  all that differs in some

An entry is named here where the runtime has its function or method. It is whole if PyTorch's own
samples, in each dtype that both have, give PyTorch's values, dtype, shape and strides, gradients
and second gradients. Beside them the database has wrong calls, with the class of
the error that each raises. It needs PyTorch and the package `expecttest`.
"""

# ruff: noqa: T201  (what it finds is printed)

from __future__ import annotations

import argparse
import itertools
import random
import sys
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import freeze_rng_state

import tidy.runtime as ours

from .op_db_arguments import DTYPES, Unsupported, array_of, as_ours, dtype_of

SAMPLES = 8  # of an entry in a dtype, spread over those that there are
# Functions whose values PyTorch leaves open, or which of equal elements they point to: what they
# give has to be of its dtype and layout.
RANDOM = "argsort bernoulli multinomial normal empty rand dropout rrelu".split()
LIMITS = {"float16": (2e-3, 2e-3), "bfloat16": (1.6e-2, 1.6e-2)}  # relative, absolute
LIMITS |= {"float32": (2e-4, 2e-5), "float64": (1e-7, 1e-7)}


@dataclass
class Outcome:
    """What came of an entry: differences by dtype, and of each wrong call both errors' classes."""

    name: str
    samples: int = 0
    differences: list[str] = field(default_factory=list)
    errors: list[tuple[str, str, str]] = field(default_factory=list)  # call, theirs, ours

    @property
    def right(self) -> int:
        """How many wrong calls raise the same class."""
        return sum(a == b for _, a, b in self.errors)


def entries() -> list[Any]:
    """The entries that are named here."""
    return [op for op in op_db if _ours_of(op) is not None]


def _ours_of(op: Any) -> Any:
    """The runtime's function for an entry, or its method."""
    place: Any = ours
    for part in op.name.split("."):
        place = getattr(place, part, None)
    return place if callable(place) else getattr(ours.Tensor, op.name, None)  # a dtype is none


def _call_of(op: Any) -> Any:
    """The entry's function with our names in place of PyTorch's."""
    call = op.op
    if isinstance(call, types.FunctionType) and call.__module__.startswith("torch.testing"):
        names = {k: ours if v is torch else v for k, v in call.__globals__.items()}
        code = types.FunctionType(call.__code__, names, None, call.__defaults__, call.__closure__)
        code.__kwdefaults__ = call.__kwdefaults__
        return code
    return _ours_of(op)


def _leaves(value: Any) -> Iterator[Any]:
    """The tensors in an argument or a result."""
    if isinstance(value, (torch.Tensor, ours.Tensor)):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _leaves(one)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))


def _plain(value: Any, drawn: bool) -> Any:
    """A result in lists, words and arrays: of a tensor its dtype, strides, flag and values."""
    if isinstance(value, (list, tuple)):
        return [_plain(one, drawn) for one in value]
    if isinstance(value, (torch.Tensor, ours.Tensor)):
        shape, steps = list(value.shape), value.shape if value.is_sparse else value.stride()
        strides = [s for s, n in zip(steps, shape, strict=True) if n > 1]
        strides = [] if 0 in shape else strides
        dtype = str(value.dtype).removeprefix("torch.")
        if isinstance(value, torch.Tensor):
            dtype_of(value.dtype)
        made = (value.to_dense() if value.is_sparse else value).detach()
        array = array_of(made) if isinstance(value, torch.Tensor) else made.array
        return [dtype, shape, strides, value.requires_grad, None if drawn else np.array(array)]
    if isinstance(value, np.dtype):
        return value.name
    known = isinstance(value, (bool, int, float, complex))
    return value if known else str(value).removeprefix("torch.")


def _differ(a: Any, b: Any) -> str:  # noqa: PLR0911
    """How two results differ; empty if they don't."""
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return f"{len(a)} for {len(b)}"
        return next((text for x, y in zip(a, b, strict=True) if (text := _differ(x, y))), "")
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype}{a.shape} for {b.dtype}{b.shape}"
        if a.dtype.kind in "biu":
            return "" if np.array_equal(a, b) else f"values {_short(a, b)}"
        real = np.float32 if a.dtype.itemsize == 2 else a.dtype
        rtol, atol = LIMITS[a.dtype.name] if real is not a.dtype else LIMITS[a.real.dtype.name]
        with np.errstate(all="ignore"):
            if real is np.float32:  # sums of what was rounded: by the largest number
                finite = np.abs(b.astype(real))[np.isfinite(b.astype(real))]
                atol *= max(1.0, finite.max(initial=0))
            close = np.isclose(a.astype(real), b.astype(real), rtol, atol, equal_nan=True)
        return "" if close.all() else f"values {_short(a[~close], b[~close])}"
    if isinstance(a, (int, float, complex)) and isinstance(b, (int, float, complex)):
        return "" if np.isclose(a, b, equal_nan=True) else f"{a} for {b}"
    return "" if a == b else f"{a} for {b}"


def _short(a: np.ndarray, b: np.ndarray) -> str:
    return f"{a.reshape(-1)[:3]} for {b.reshape(-1)[:3]}".replace("\n", " ")


def _weighted(library: Any, outs: list[Any], weights: list[np.ndarray]) -> Any:
    """A number of the outputs, whose gradients are the weights."""
    total: Any = 0
    for out, weight in zip(outs, weights, strict=True):
        each = (out * library.as_tensor(weight)).sum()
        total = total + (each.real if each.is_complex() else each)
    return total


def _gradients(library: Any, call: Any, arguments: Any, settle: Any) -> list[Any]:
    """First gradients, and those of them: of all tensors that require one."""
    args, kwargs = arguments
    leaves = [x for x in _leaves([args, kwargs]) if x.requires_grad]
    outs = [x for x in _leaves(settle(call(*args, **kwargs))) if x.requires_grad]
    found = []
    stream = np.random.default_rng(3)
    for _ in range(2):
        if not outs or not leaves:
            break
        weights = [_weights(stream, x) for x in outs]
        number = _weighted(library, outs, weights)
        grads = library.autograd.grad(number, leaves, create_graph=True, allow_unused=True)
        found.append([None if g is None else g.detach().clone() for g in grads])
        outs = [g for g in grads if g is not None and g.requires_grad]
    return found


def _weights(stream: np.random.Generator, tensor: Any) -> np.ndarray:
    """Numbers in the tensor's kind."""
    shape = tuple(tensor.shape)
    if tensor.is_complex():
        return stream.uniform(0.5, 1.5, shape) + 1j * stream.uniform(0.5, 1.5, shape)
    return np.asarray(stream.uniform(0.5, 1.5, shape))


def _same_gradients(mine: list[Any], theirs: list[Any]) -> str:
    """None and zeros say the same: nothing is there to differentiate."""
    for order, (a, b) in enumerate(itertools.zip_longest(mine, theirs, fillvalue=[]), 1):
        for x, y in itertools.zip_longest(a, b):
            one, two = (None if t is None else _plain(t, False)[-1] for t in (x, y))
            if one is None or two is None:
                rest = two if one is None else one
                close = rest is None or np.allclose(rest, 0, atol=1e-7)
                told = "" if close else f"{one} for {two}"
            else:
                told = _differ(one, two)
            if told:
                return f"gradient {order}: {told}"
    return ""


# What PyTorch leaves open: where equal elements go, and the signs of vectors, which the database
# takes out by a function of its own.
_UNORDERED = {"sort", "topk"}
_WITHOUT_SIGN = {"svd", "linalg.svd", "linalg.eigh"}


def _settled(op: Any, sample: Any, value: Any) -> Any:
    """A result without what PyTorch leaves open."""
    if op.name in _UNORDERED:
        return value[:1]
    return sample.output_process_fn_grad(value) if op.name in _WITHOUT_SIGN else value


def _sample(op: Any, call: Any, sample: Any, orders: bool, drawn: bool) -> str:
    """How a sample differs."""
    theirs = (sample.input, *sample.args), sample.kwargs
    mine = as_ours(theirs)
    torch.default_generator.manual_seed(0)
    drawn = drawn or bool(sample.kwargs.get("dropout_p"))
    expected = _plain(_settled(op, sample, op.op(*theirs[0], **theirs[1])), drawn)
    told = _differ(_plain(_settled(op, sample, call(*mine[0], **mine[1])), drawn), expected)
    if told or drawn or not orders:
        return told
    theirs_too: list[Any] = []
    try:
        theirs_too = _gradients(torch, op.op, theirs, sample.output_process_fn_grad)
    except RuntimeError:
        return ""  # PyTorch has no second gradient of it
    mine_too = _gradients(ours, call, mine, sample.output_process_fn_grad)
    return _same_gradients(mine_too, theirs_too)


def _seed() -> None:
    """The same samples each time.

    `op.sample_inputs` would do it anew for each sample, and look up where in the source it is: 3 ms
    and more, several times what both libraries take for the sample.
    """
    random.seed(1)
    np.random.seed(1)
    torch.default_generator.manual_seed(1)


def _spread(samples: list[Any], count: int) -> list[Any]:
    if len(samples) <= count:
        return samples
    return [samples[i * len(samples) // count] for i in range(count)]


def ask(op: Any, every: bool = False, count: int = SAMPLES) -> Outcome:
    """Ask the runtime what the database has of an entry.

    Args:
        every: go on after a difference.
        count: how many samples of a dtype, and three times that in float64.
    """
    name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
    outcome = Outcome(name)
    call = _call_of(op)
    drawn = any(word in op.name for word in RANDOM) and "normalize" not in op.name
    with warnings.catch_warnings(), np.errstate(all="ignore"), freeze_rng_state():
        warnings.simplefilter("ignore")
        for word in DTYPES:
            dtype = getattr(torch, word)
            if dtype not in op.supported_dtypes("cpu"):
                continue
            wide = word in {"float64", "complex128"}
            orders = wide and op.supports_autograd
            _seed()
            samples = list(op.sample_inputs_func(op, "cpu", dtype, orders))
            chosen = _spread(samples, count * (3 if word == "float64" else 1))
            for number, sample in enumerate(chosen):
                try:
                    told = _sample(op, call, sample, orders, drawn)
                except Unsupported:
                    continue
                except Exception as error:
                    told = f"{type(error).__name__}: {error}"
                outcome.samples += 1
                if told:
                    shown = _shown((sample.input, *sample.args), sample.kwargs)
                    outcome.differences.append(f"{word} #{number} {shown}: {told}"[:400])
                    if not every:
                        break
        _wrong_calls(op, call, outcome)
    return outcome


def _shown(args: Any, kwargs: Any) -> str:
    def one(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return f"{str(value.dtype)[6:]}{list(value.shape)}"
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(one, value))}]"
        return repr(value)[:40]

    return ", ".join([*map(one, args), *(f"{k}={one(v)}" for k, v in kwargs.items())])


def _wrong_calls(op: Any, call: Any, outcome: Outcome) -> None:
    if op.error_inputs_func is None:
        return
    _seed()
    for wrong in op.error_inputs_func(op, "cpu"):
        sample = wrong.sample_input
        theirs = (sample.input, *sample.args), sample.kwargs
        try:
            mine = as_ours(theirs)
        except Unsupported:
            continue
        expected = _ending(op.op, *theirs)
        if expected == "nothing":
            continue
        shown = _shown(*theirs)
        outcome.errors.append((shown, expected, _ending(call, *mine)))


def _ending(call: Any, args: Any, kwargs: Any) -> str:
    """The class of the error, among those that both libraries have."""
    try:
        call(*args, **kwargs)
    except Exception as error:
        known = (IndexError, NotImplementedError, ValueError, TypeError, RuntimeError)
        return next((k.__name__ for k in known if isinstance(error, k)), type(error).__name__)
    return "nothing"


@dataclass
class Summary:
    """What came of many entries."""

    entries: int = 0
    whole: int = 0
    wrong_calls: int = 0
    right: int = 0  # wrong calls that raise the same class

    def add(self, outcome: Outcome) -> None:
        self.entries += bool(outcome.samples)
        self.whole += bool(outcome.samples) and not outcome.differences
        self.wrong_calls += len(outcome.errors)
        self.right += outcome.right

    def __str__(self) -> str:
        share = 100 * self.whole / max(self.entries, 1)
        errors = 100 * self.right / max(self.wrong_calls, 1)
        return (
            f"{self.entries} entries named of {len(op_db)}, {self.whole} whole ({share:.1f} %);"
            f" {self.wrong_calls} wrong calls, {self.right} raise the same class ({errors:.1f} %)"
        )


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="entries; every one without any")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of an entry in a dtype")
    options = parser.parse_args()
    summary = Summary()
    for op in entries():
        if options.names and op.name not in options.names:
            continue
        outcome = ask(op, every=bool(options.names), count=options.samples)
        summary.add(outcome)
        for told in outcome.differences:
            print(f"{outcome.name}: {told}")
        for shown, theirs, mine in outcome.errors:
            if theirs != mine:
                print(f"{outcome.name}({shown}): raises {mine}, in PyTorch {theirs}", flush=True)
    print(summary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
