"""Corrections that need no change of the script: each replaces what a framework does by default.

They are patches of one process, for measuring what a fix gains. What the script says itself is
overridden where it is the mistake, and what a class does not take is left as it was.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

_MOST_WORKERS = 8


def apply(torch: Any, codes: list[str]) -> None:
    """Correct what the rules with these codes find; `torch` may be tidy.runtime."""
    for correct in dict.fromkeys(CORRECTIONS[code][1] for code in codes):
        correct(torch)


def _load_in_workers(torch: Any) -> None:
    def change(given: dict[str, Any]) -> None:
        before = given.get("num_workers", 0)
        given["num_workers"] = max(2 * before, 2, min(os.cpu_count() or 2, _MOST_WORKERS))
        given["persistent_workers"] = True

    _change_loaders(torch, change)


def _pin_batches(torch: Any) -> None:
    _change_loaders(torch, lambda given: given.update(pin_memory=True))
    _copy_without_waiting(torch)


def _copy_without_waiting(torch: Any) -> None:
    kind = torch.Tensor
    for name in ("to", "cuda"):
        real = getattr(kind, name)

        def move(tensor: Any, *args: Any, _real: Any = real, **kwargs: Any) -> Any:
            # Only copies from pinned memory to a device are safe to leave running.
            if not tensor.is_cuda and tensor.is_pinned():
                kwargs["non_blocking"] = True
            return _real(tensor, *args, **kwargs)

        setattr(kind, name, wraps(real)(move))


def _use_tf32(torch: Any) -> None:
    torch.set_float32_matmul_precision("high")


def _fuse_optimizers(torch: Any) -> None:
    """`fused=True` where the class and the parameters allow it, else `foreach=True`."""
    base = torch.optim.Optimizer
    kinds = [each for each in vars(torch.optim).values() if isinstance(each, type)]
    for kind in kinds:
        if not issubclass(kind, base) or kind is base:
            continue
        known = inspect.signature(kind).parameters
        takes_any = any(each.kind is each.VAR_KEYWORD for each in known.values())
        choices = [name for name in ("fused", "foreach") if takes_any or name in known]
        if choices:
            _construct_with_one_of(kind, choices)


def _construct_with_one_of(kind: Any, choices: list[str]) -> None:
    real = kind.__init__

    @wraps(real)
    def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
        others = {name: value for name, value in kwargs.items() if name not in choices}
        # Parameters may come from an iterator, which can be used once.
        if args:
            args = (list(args[0]), *args[1:])
        elif "params" in kwargs:
            kwargs["params"] = others["params"] = list(kwargs["params"])
        for name in choices:
            try:
                real(optimizer, *args, **others, **{name: True})
            except (RuntimeError, TypeError, ValueError):
                continue
            return
        real(optimizer, *args, **kwargs)

    kind.__init__ = init


def _drop_gradients(torch: Any) -> None:
    for kind in (torch.optim.Optimizer, torch.nn.Module):
        real = kind.zero_grad

        def zero_grad(owner: Any, set_to_none: bool = True, _real: Any = real) -> Any:
            return _real(owner, set_to_none=True)

        kind.zero_grad = wraps(real)(zero_grad)


def _do_not_synchronize(torch: Any) -> None:
    torch.cuda.synchronize = lambda device=None: None


def _keep_the_cache(torch: Any) -> None:
    torch.cuda.empty_cache = lambda: None


def _change_loaders(torch: Any, change: Callable[[dict[str, Any]], None]) -> None:
    """Have each loader made with arguments that `change` has changed."""
    kind = import_module(f"{torch.__name__}.utils.data").DataLoader
    real = kind.__init__
    signature = inspect.signature(real)

    @wraps(real)
    def init(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        change(bound.arguments)
        real(*bound.args, **bound.kwargs)

    kind.__init__ = init


# By rule: what is switched on, in words, and how.
CORRECTIONS: dict[str, tuple[str, Callable[[Any], None]]] = {
    "TDY101": ("workers load the batches", _load_in_workers),
    "TDY102": ("twice the workers load the batches", _load_in_workers),
    "TDY103": ("the loader pins its batches, copies do not wait", _pin_batches),
    "TDY104": ("copies from pinned memory do not wait", _copy_without_waiting),
    "TDY302": ("torch.cuda.synchronize() does nothing", _do_not_synchronize),
    "TDY501": ("products of float32 in TF32", _use_tf32),
    "TDY601": ("optimizers are fused, or else foreach", _fuse_optimizers),
    "TDY602": ("optimizers are fused, or else foreach", _fuse_optimizers),
    "TDY603": ("zero_grad() sets gradients to None", _drop_gradients),
    "TDY802": ("torch.cuda.empty_cache() does nothing", _keep_the_cache),
}
