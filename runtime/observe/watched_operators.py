"""An operator as `everyone` sees it: callbacks, interposers and the modes that act on operators."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..core.thread_state import thread
from ..engine import anomaly
from ..engine.grad_mode import is_grad_enabled, is_inference_mode_enabled
from ..engine.tensor import Tensor
from . import autocast as amp
from .arrangement import Interposer, everyone, innermost, interposers
from .callbacks import begin, end
from .record import RecordScope


def interpose(name: str, inner: Callable[..., Any], args: Any, kwargs: Any = None) -> Any:
    """Run `inner`, an operator that does not look for observers, in the sight of all of them."""
    kwargs = kwargs or {}
    if amp.is_autocast_enabled() or amp.is_autocast_enabled("cuda"):
        inner = amp.without_casts(name, inner)
        args = amp.cast(name, args)
        kwargs = dict(zip(kwargs, amp.cast(name, tuple(kwargs.values())), strict=True))
    recording = is_grad_enabled() and any(map(_needs_grad, args))
    number = thread.sequence_nr
    for each in (*innermost, *interposers):
        inner = _through(each, name, inner)
    shown = (*args, *kwargs.values())
    running = begin(name, RecordScope.FUNCTION, shown, number if recording else -1)
    try:
        out = inner(*args, **kwargs)
    finally:
        end(running)
    for one in out if isinstance(out, (tuple, list)) else (out,):
        if not isinstance(one, Tensor):
            continue
        node = one._node
        if node is not None and node.sequence_nr >= number:
            node.thread_id = threading.get_ident()
            anomaly.note(node)
        own = one._view is None or one._view.base._counter is None
        fresh = name == "aten::lift_fresh"  # made by torch.tensor and from_numpy
        if own and is_inference_mode_enabled() and (fresh or not any(one is x for x in args)):
            one._counter = None
            one._view = None
    return out


def _needs_grad(x: Any) -> bool:
    if isinstance(x, (tuple, list)):
        return any(map(_needs_grad, x))
    return isinstance(x, Tensor) and x._rg


def _through(each: Interposer, name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: each.op(name, inner, args, kwargs)


everyone.op = interpose
