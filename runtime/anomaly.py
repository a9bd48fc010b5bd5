"""Anomaly mode: which forward line made the node that failed.

While it is on, each new node notes the stack that made it and, inside a backward, the node being
run then; a failing backward prints the chain. NaN in a gradient is a failure too.

Source: torch/csrc/autograd/anomaly_mode.cpp, torch/autograd/anomaly_mode.py.
"""

from __future__ import annotations

import traceback
import warnings
from contextvars import ContextVar

import numpy as np

from .grad_mode import Mode
from .hooks import check
from .node import Grads, Node, thread
from .record_function import active

_mode: ContextVar[tuple[bool, bool]] = ContextVar("tidy_anomaly_mode", default=(False, False))


def is_anomaly_enabled() -> bool:
    """Whether nodes made now note where."""
    return _mode.get()[0]


class detect_anomaly(Mode):  # noqa: N801  (PyTorch's name)
    """Note the forward stack of each node; with `check_nan`, a NaN gradient is an error."""

    variable = _mode

    def __init__(self, check_nan: bool = True) -> None:
        self.value = (True, check_nan)

    def __enter__(self) -> None:
        super().__enter__()
        active.append(self)

    def __exit__(self, *exc: object) -> None:
        active.remove(self)
        super().__exit__()


class set_detect_anomaly(Mode):  # noqa: N801  (PyTorch's name)
    """`detect_anomaly`, on or off: at once when called, or for a block."""

    _token: list[object] = []  # noqa: RUF012  (one for the process, as the mode is in PyTorch)

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._outer, self._mode = _mode.get(), (mode, check_nan)
        self._set(self._mode)

    def clone(self) -> Mode:
        return set_detect_anomaly(*self._mode)

    def _set(self, mode: tuple[bool, bool]) -> None:
        _mode.set(mode)
        if mode[0] and not self._token:
            self._token.append(self)
            active.append(self)
        elif not mode[0] and self._token:
            active.remove(self._token.pop())

    def __enter__(self) -> None:
        self._set(self._mode)

    def __exit__(self, *exc: object) -> None:
        self._set(self._outer)


def note(node: Node) -> None:
    """Write on a new node where it was made, if the mode is on."""
    if not _mode.get()[0] or "traceback_" in node.metadata:
        return
    node.metadata["traceback_"] = traceback.extract_stack()[:-3]
    if thread.node is not None:
        node.metadata["parent_"] = thread.node


def explain(node: Node) -> None:
    """Warn with the forward stack of a node that failed, and of those it was made for."""
    what = "Traceback of forward call that caused the error:\n"
    if "traceback_" not in node.metadata:
        what = "No forward pass information available. Enable detect anomaly during forward pass "
        what += "for more information."
    message = f"Error detected in {node.name()}. {what}"
    at: Node | None = node
    while at is not None:
        stack = at.metadata.get("traceback_", ())
        warnings.warn(message + "".join(traceback.format_list(stack)), stacklevel=2)
        at = at.metadata.get("parent_")
        if at is not None:
            message = f"\n\nPrevious calculation was induced by {at.name()}. "
            message += "Traceback of forward call that induced the previous calculation:\n"


def check_nan(node: Node, grads: Grads) -> None:
    """Refuse a NaN among the gradients a node gave."""
    if not all(_mode.get()):
        return
    for index, grad in enumerate(grads):
        if grad is not None and grad.array.dtype.kind in "fc":
            array = grad._values().array if grad.is_sparse else grad.array
            where = f"Function '{node.name()}' returned nan values in its {index}th output."
            check(not np.isnan(array).any(), where)
