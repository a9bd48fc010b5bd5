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

from .grad_mode import Mode, set_grad_enabled
from .hooks import check
from .node import Grads, Node, thread
from .record_function import watching

_mode: ContextVar[tuple[bool, bool]] = ContextVar("tidy_anomaly_mode", default=(False, False))


def is_anomaly_enabled() -> bool:
    return _mode.get()[0]


class detect_anomaly(Mode):
    """Note the forward stack of each node; with `check_nan`, a NaN gradient is an error."""

    variable, listed = _mode, watching

    def __init__(self, check_nan: bool = True) -> None:
        self.value = (True, check_nan)


class set_detect_anomaly(set_grad_enabled):
    """`detect_anomaly`, on or off: at once when called, or for a block."""

    variable = _mode

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__((mode, check_nan))

    def clone(self) -> Mode:
        return set_detect_anomaly(*self.value)

    def _set(self, value: tuple[bool, bool]) -> None:
        super()._set(value)
        if value[0] != (_mode in watching):  # once for the process, as the mode is in PyTorch
            (watching.append if value[0] else watching.remove)(_mode)


def note(node: Node) -> None:
    """Write on a new node where it was made, if the mode is on."""
    if is_anomaly_enabled() and "traceback_" not in node.metadata:
        node.metadata["traceback_"] = traceback.extract_stack()[:-3]
        node.metadata["parent_"] = thread.node


def explain(node: Node | None) -> None:
    """Warn with the forward stack of a node that failed, and of those it was made for."""
    what = "Error detected in"
    while node is not None:
        how = "No forward pass information available: enable detect anomaly during forward pass."
        if stack := node.metadata.get("traceback_"):
            how = "Traceback of forward call:\n" + "".join(traceback.format_list(stack))
        warnings.warn(f"{what} {node.name()}. {how}", stacklevel=2)
        what, node = "\n\nPrevious calculation was induced by", node.metadata.get("parent_")


def check_nan(node: Node, grads: Grads) -> None:
    """Refuse a NaN among the gradients a node gave."""
    for index, grad in enumerate(grads if all(_mode.get()) else ()):
        if grad is not None and grad.array.dtype.kind in "fc":
            array = grad._values().array if grad.is_sparse else grad.array
            where = f"Function '{node.name()}' returned nan values in its {index}th output."
            check(not np.isnan(array).any(), where)
