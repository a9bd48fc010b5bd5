"""gradcheck and gradgradcheck: analytic gradients against differences.

For a fixed random direction `u` of the outputs and `v` of the inputs, `u . J v` is had twice: from
backward, and from (f(x + eps v) - f(x - eps v)) / 2 eps. Source: torch/autograd/gradcheck.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..engine.backward import as_tuple, grad
from ..engine.grad_mode import enable_grad, no_grad
from ..engine.tensor import Tensor, wrap

_OTHERS = {"nondet_tol", "check_undefined_grad", "check_grad_dtypes", "check_batched_grad"}
_OTHERS |= {"check_batched_forward_grad", "check_backward_ad", "fast_mode", "masked"}


class GradcheckError(RuntimeError):
    """The two disagree."""


def _floating(outputs: Any) -> list[Tensor]:
    return [o for o in as_tuple(outputs) if isinstance(o, Tensor) and o.array.dtype.kind == "f"]


def gradcheck(
    function: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    seed: int = 0,
    rounds: int = 2,
    **others: Any,
) -> bool:
    """Tell whether the function's gradients are what differences of it say.

    Args:
        rounds: how many random directions each input is checked in.
        others: further options of PyTorch's, which change nothing here.
    """
    unknown = others.keys() - _OTHERS
    if unknown:
        raise TypeError(f"gradcheck() got unexpected arguments: {', '.join(sorted(unknown))}")
    args = as_tuple(inputs)
    stream = np.random.default_rng(seed)
    checked = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]
    if not checked:
        raise ValueError("gradcheck expects at least one input tensor that requires a gradient")
    for i in checked:
        if args[i].array.dtype != np.float64:
            raise GradcheckError(f"input {i} is {args[i].array.dtype}; differences need float64")
    for _ in range(rounds):
        outputs = _floating(function(*args))
        weights = [stream.standard_normal(o.array.shape) for o in outputs]
        tied = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
        gradients: Sequence[Tensor | None] = [None] * len(checked)
        if tied:
            weighted, starts = [wrap(w).to(o.device) for o, w in tied], [args[i] for i in checked]
            gradients = grad([o for o, _ in tied], starts, weighted, allow_unused=True)
        for i, analytic in zip(checked, gradients, strict=True):
            towards = stream.standard_normal(args[i].array.shape)
            ends = []
            for sign in (1, -1):
                moved = list(args)
                moved[i] = wrap(args[i].array + sign * eps * towards).to(args[i].device)
                with no_grad():
                    ends.append([o.array for o in _floating(function(*moved))])
            changes = [(w * (a - b)).sum() for w, a, b in zip(weights, *ends, strict=True)]
            numeric = float(sum(changes)) / (2 * eps)
            ours = 0.0 if analytic is None else float((analytic.array * towards).sum())
            if not abs(ours - numeric) <= atol + rtol * abs(numeric):
                if not raise_exception:
                    return False
                what = f"{getattr(function, '__name__', function)} with respect to input {i}"
                raise GradcheckError(f"gradient of {what}: analytic {ours!r}, numeric {numeric!r}")
    return True


def gradgradcheck(
    function: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Any = None,
    *,
    seed: int = 0,
    gen_non_contig_grad_outputs: bool = False,
    **kwargs: Any,
) -> bool:
    """Tell whether the gradient's own gradients are right, for random `grad_outputs` if None."""
    args = as_tuple(inputs)
    stream = np.random.default_rng(seed + 1)
    places = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]
    outputs = [o for o in _floating(function(*args)) if o.requires_grad]
    drawn = [wrap(stream.standard_normal(o.array.shape)).to(o.device) for o in outputs]
    grads = [x.requires_grad_() for x in drawn]
    grads = grads if grad_outputs is None else list(as_tuple(grad_outputs))

    def gradient(*both: Any) -> tuple[Tensor, ...]:
        given = list(both[: len(args)])
        with enable_grad():
            for i in places:
                if not given[i].requires_grad:
                    given[i] = given[i].detach().requires_grad_()
            outs = [o for o in _floating(function(*given)) if o.requires_grad]
            starts, weights = [given[i] for i in places], both[len(args) :]
            return grad(outs, starts, weights, create_graph=True, materialize_grads=True)  # type: ignore[return-value]

    gradient.__name__ = f"the gradient of {getattr(function, '__name__', function)}"
    return gradcheck(gradient, (*args, *grads), seed=seed, **kwargs)
