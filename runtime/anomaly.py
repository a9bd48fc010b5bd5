"""Anomaly mode: which forward line made the node that failed.

While it is on, each new node notes the stack that made it and, inside a backward, the node being
run then; a failing backward prints the chain. NaN in a gradient is a failure too.

Source: torch/csrc/autograd/anomaly_mode.cpp, torch/autograd/anomaly_mode.py.
"""

from __future__ import annotations

import traceback
import warnings
from contextvars import ContextVar

from .grad_mode import Mode
from .node import Grads, Node, thread
from .record_function import active

_mode: ContextVar[tuple[bool, bool]] = ContextVar("tidy_anomaly_mode", default=(False, False))


def is_anomaly_enabled() -> bool:
    """Whether nodes made now note where."""
    return _mode.get()[0]


class detect_anomaly(Mode):  # noqa: N801  (PyTorch's name)
    """Note the forward stack of each node; with `check_nan`, a NaN gradient is an error."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self._before: list[tuple[bool, bool]] = []

    def clone(self) -> Mode:
        """Another, with the same check."""
        return detect_anomaly(self.check_nan)

    def __enter__(self) -> None:
        self._before.append(_mode.get())
        _mode.set((True, self.check_nan))
        active.append(self)

    def __exit__(self, *exc: object) -> None:
        active.remove(self)
        _mode.set(self._before.pop())


class set_detect_anomaly(Mode):  # noqa: N801  (PyTorch's name)
    """`detect_anomaly`, on or off: at once when called, or for a block."""

    _token: list[object] = []  # noqa: RUF012  (one for the process, as the mode is in PyTorch)

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _mode.get()
        self._mode = (mode, check_nan)
        self._apply(self._mode)

    def clone(self) -> Mode:
        """Another, of the same mode."""
        return set_detect_anomaly(*self._mode)

    def _apply(self, mode: tuple[bool, bool]) -> None:
        _mode.set(mode)
        if mode[0] and not self._token:
            self._token.append(self)
            active.append(self)
        elif not mode[0] and self._token:
            active.remove(self._token.pop())

    def __enter__(self) -> None:
        self._apply(self._mode)

    def __exit__(self, *exc: object) -> None:
        self._apply(self._before)


def note(node: Node) -> None:
    """Write on a new node where it was made, if the mode is on."""
    if not _mode.get()[0] or "traceback_" in node.metadata:
        return
    node.metadata["traceback_"] = traceback.extract_stack()[:-3]
    if thread.node is not None:
        node.metadata["parent_"] = thread.node


def explain(node: Node) -> None:
    """Warn with the forward stack of a node that failed, and of those it was made for."""
    message = f"Error detected in {node.name()}. "
    stack = node.metadata.get("traceback_")
    if stack is None:
        message += (
            "No forward pass information available. Enable detect anomaly during forward pass "
            "for more information."
        )
    else:
        message += "Traceback of forward call that caused the error:\n"
        message += "".join(traceback.format_list(stack))
    warnings.warn(message, stacklevel=2)
    parent = node.metadata.get("parent_")
    while parent is not None:
        stack = parent.metadata.get("traceback_", ())
        warnings.warn(
            f"\n\nPrevious calculation was induced by {parent.name()}. "
            "Traceback of forward call that induced the previous calculation:\n"
            + "".join(traceback.format_list(stack)),
            stacklevel=2,
        )
        parent = parent.metadata.get("parent_")


def check_nan(node: Node, grads: Grads) -> None:
    """Refuse a NaN among the gradients a node gave."""
    if not all(_mode.get()):
        return
    for index, grad in enumerate(grads):
        if grad is None or grad.array.dtype.kind not in "fc":
            continue
        if (grad.array != grad.array).any():
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {index}th output."
            )
