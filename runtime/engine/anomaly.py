"""Anomaly mode: which forward line made the node that failed.

While it is on, each new node notes the stack that made it and, inside a backward, the node being
run then; a failing backward prints the chain. NaN in a gradient is a failure too.
Source: torch/csrc/autograd/anomaly_mode.cpp, torch/autograd/anomaly_mode.py.
"""

from __future__ import annotations

import traceback
import warnings
from contextvars import ContextVar

from ..core.aten import aten
from ..core.mode import Mode
from ..core.thread_state import thread
from ..observe.arrangement import watching
from .grad_mode import no_grad, set_grad_enabled
from .hooks import check
from .node import Grads, Node

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


def name_the_node(node: Node, error: BaseException) -> None:
    """Say which node failed; the exception and its traceback stay what they are."""
    if "_tidy_node" in vars(error):
        return  # a backward inside this one has said it
    vars(error)["_tidy_node"] = node.name()
    if hasattr(error, "add_note"):
        error.add_note(f"in the backward of {node.name()} (sequence_nr {node.sequence_nr})")
    if is_anomaly_enabled():
        explain(node)


def check_nan(node: Node, grads: Grads) -> None:
    """Refuse a NaN among the gradients a node gave; looks by the three operators PyTorch uses."""
    for index, grad in enumerate(grads if all(_mode.get()) else ()):
        if grad is not None:
            where = f"Function '{node.name()}' returned nan values in its {index}th output."
            with no_grad():
                values = grad._values() if grad.is_sparse else grad
                check(not aten._is_any_true(aten.isnan(values)).item(), where)
