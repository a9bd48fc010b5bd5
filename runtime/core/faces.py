"""Modules that scripts name and that have nothing behind them: what their names give.

In each, `is_...` is a function that says no, what only seeds, counts, empties or marks does
nothing, and any other function says why it is not here when it is called.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

_DEVICE = "there is no such device"
_MARKS = "marks are for NVIDIA's tools, which read nothing here"
WHY = {
    "hub": "tidy.runtime loads no models that PyTorch has saved",
    "onnx": "tidy.runtime writes no models for other programs",
    "distributed": "tidy.runtime runs in one process",
    **dict.fromkeys(("mps", "xpu", "mtia"), _DEVICE),
    **dict.fromkeys(("cuda.nvtx", "cuda.profiler"), _MARKS),
}


def _does(value: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: value


_QUIET = dict.fromkeys("manual_seed manual_seed_all empty_cache mark range_end start stop".split())
_QUIET |= dict.fromkeys("device_count range_push range_pop range_start".split(), 0)
_CONTEXTS = ("range", "profile")


@contextlib.contextmanager
def _around(*args: Any, **kwargs: Any) -> Iterator[None]:
    """Nothing: as a context, or as a decorator."""
    yield


def face(name: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of such a module; `name` is one of WHY."""

    def find(asked: str) -> Any:
        if asked.startswith("_"):
            raise AttributeError(f"torch.{name} has no {asked!r}")
        if asked in _CONTEXTS and WHY[name] == _MARKS:
            return _around
        if asked.startswith("is_") or asked in _QUIET:
            return _does(_QUIET.get(asked, False))
        return refusing(f"torch.{name}.{asked}", WHY[name])

    return find


def refusing(name: str, why: str) -> Callable[..., Any]:
    """Return a function that can be named, and says why it is not here when it is called."""

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{name}: {why}")

    refused.__name__ = name.rpartition(".")[2]
    return refused
