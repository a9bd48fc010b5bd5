"""torch.utils.checkpoint: do not keep what a function saves for backward, compute it again then.

Reentrant, the function runs without a graph; its backward runs it with one, and a backward through
that. Otherwise it runs with its graph, where a saved tensor is a number; the first number that
backward asks for runs the function again. Source: torch/utils/checkpoint.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from itertools import compress
from typing import Any

from ..core.thread_state import thread
from ..engine.backward import backward
from ..engine.function import Function
from ..engine.grad_mode import enable_grad, is_grad_enabled
from ..engine.hooks import check
from ..engine.saved_variable import SavedVariable, saved_tensors_hooks
from ..engine.tensor import Tensor
from ..observe.autocast import autocast, get_autocast_dtype, is_autocast_enabled
from ..ops.creation import default_generator as generator

Call = Callable[..., Any]


class CheckpointError(RuntimeError):
    """A function did not save the same when it was run again."""


class _Stop(Exception):
    """All that was saved has been computed again."""


def _again(function: Call, args: Sequence[Any], then: tuple[Any, Any]) -> Any:
    """Run with a graph, as `then`: the autocast dtype, and the random state ({} if any will do)."""
    dtype, state = then
    now = {name: vars(generator)[name] for name in state}
    vars(generator).update(deepcopy(state))
    try:
        with enable_grad(), autocast("cpu", dtype, enabled=dtype is not None):
            return function(*args)
    finally:
        vars(generator).update(now)


class CheckpointFunction(Function):
    @staticmethod
    def forward(ctx: Any, function: Call, then: Any, *args: Any) -> Any:
        if not any(ctx.needs_input_grad):
            warnings.warn("None of the inputs have requires_grad=True. No gradients", stacklevel=4)
        ctx.run, ctx.then = function, then
        ctx.others = [None if isinstance(x, Tensor) else x for x in args]
        ctx.save_for_backward(*(x if isinstance(x, Tensor) else None for x in args))
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        whole = thread.exec_info is None
        check(whole, "use_reentrant=True does not go with grad() or backward(inputs=...)")
        pairs = zip(ctx.saved_tensors, ctx.others, strict=True)
        args = [x if t is None else t.detach().requires_grad_(t.requires_grad) for t, x in pairs]
        result = _again(ctx.run, args, ctx.then)
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        needed = [isinstance(o, Tensor) and o.requires_grad for o in outputs]
        check(any(needed), "none of output has requires_grad=True, checkpoint() is needless")
        backward(list(compress(outputs, needed)), list(compress(grads, needed)))
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in args))


def _hooks(function: Call, args: Any, then: Any, strict: bool, stop: bool) -> saved_tensors_hooks:
    """Those of one call: what they keep is the arguments."""
    kept = [SavedVariable(x) if isinstance(x, Tensor) else x for x in args]
    saved: list[Any] = []  # shape and dtype of each
    recomputed: dict[int, Tensor] = {}  # computed again, and not yet asked for

    def pack(x: Tensor) -> int:
        saved.append((x.array.shape, x.array.dtype))
        return len(saved) - 1

    def unpack(number: int) -> Tensor:
        again: list[Any] = []

        def pack(x: Tensor) -> Tensor:
            recomputed[len(again)] = x.detach()
            again.append((x.array.shape, x.array.dtype))
            if stop and len(again) == len(saved):
                raise _Stop
            return x

        if number not in recomputed:
            values = [x.unpack(None) if isinstance(x, SavedVariable) else x for x in kept]  # type: ignore[arg-type]
            with suppress(_Stop), saved_tensors_hooks(pack, lambda x: x):
                _again(function, values, then)
            if len(again) != len(saved) or (strict and again != saved):
                raise CheckpointError(f"recomputation saved {again}, the forward {saved}")
        return recomputed.pop(number)

    return saved_tensors_hooks(pack, unpack)


def checkpoint(
    function: Call,
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    determinism_check: str = "default",
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, of which nothing but the arguments is kept for backward."""
    if use_reentrant is None:
        warnings.warn("checkpoint: pass the use_reentrant parameter explicitly", stacklevel=2)
    if determinism_check not in {"default", "none"} or (kwargs and use_reentrant is not False):
        raise ValueError(f"Unexpected arguments: {determinism_check}, {','.join(kwargs)}")
    dtype = get_autocast_dtype() if is_autocast_enabled() else None
    then = (dtype, deepcopy(vars(generator)) if preserve_rng_state else {})
    if use_reentrant is not False:
        return CheckpointFunction.apply(function, then, *args)
    run = partial(function, **kwargs)
    if not is_grad_enabled():
        return run(*args)
    with _hooks(run, args, then, determinism_check == "default", early_stop):
        return run(*args)
