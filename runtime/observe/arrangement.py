"""Who sees operators, the nodes of a backward and the user's ranges, and in which order.

    an operator, a node, a range
      |
      |   `active` is empty: it just runs, and the test of that list is all it costs
      v
    active[0]    an observer that is alone and an interposer (a profiler), or else `everyone`:
      |              modes          anomaly mode, inference mode, autocast
      |              callbacks      on_enter before, on_exit after it (callbacks.py)
      |              interposers    each runs what the one before it would have run
      v
    innermost    the modelled device, if there is one: below all who watch
      v
    the operator itself

Whoever watches stands in `watching`. Each time somebody comes or goes, `active` is arranged anew.
`watched_operators.py` and `watched_nodes.py` are what `everyone` does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from .record import RecordFunction


class Interposer(Protocol):
    """An observer that runs what it observes, which is faster than a pair of callbacks.

    One with `asks_innermost = True` hands operators to `innermost` itself, which saves a detour.
    The bodies here do no more than run it.
    """

    def op(self, name: str, inner: Callable[..., Any], args: Any, kwargs: Any = None) -> Any:
        """Run an operator, which does not look for observers itself."""
        return inner(*args, **(kwargs or {}))

    def node(self, node: Any, grads: Any, validate: Callable[[Any, Any], Any] | None) -> Any:
        """Run a node of a backward, and `validate`: what the engine adds to it."""
        outputs = node.apply(grads)
        return outputs if validate is None else validate(node, outputs)

    def backward(self, run: Callable[..., Any], *args: Any) -> Any:
        """Run a backward with all its nodes."""
        return run(*args)

    def internal(self, run: Callable[..., Any], *args: Any) -> Any:
        """Run work of the runtime that calls nothing of the user's."""
        return run(*args)

    def enter(self, record: RecordFunction) -> Any:
        """Begin a range of the user's."""
        return None

    def exit(self, record: RecordFunction, context: Any) -> Any:
        """End a range; `context` is what `enter` gave."""
        return None


class _Everyone:
    """Asks all who watch, in turn."""

    op: Callable[..., Any]  # set by watched_operators.py
    node: Callable[..., Any]  # set by watched_nodes.py

    def backward(self, run: Callable[..., Any], *args: Any) -> Any:
        for each in interposers:
            run = partial(each.backward, run)
        return run(*args)

    def internal(self, run: Callable[..., Any], *args: Any) -> Any:
        for each in interposers:
            run = partial(each.internal, run)
        return run(*args)


class _Watching(list[object]):
    """All who watch: callbacks, interposers and modes. Arranges `active` when it changes."""

    def append(self, one: object) -> None:
        super().append(one)
        arrange()

    def remove(self, one: object) -> None:
        super().remove(one)
        arrange()


everyone = _Everyone()
active: list[Any] = []  # the one to go through; empty while nobody has to see anything
watching = _Watching()
interposers: list[Interposer] = []
innermost: list[Any] = []  # an Interposer, or nothing


def arrange() -> None:
    """Decide who stands in `active`."""
    sole = len(watching) == 1 and watching[0] in interposers
    if sole and innermost:
        sole = getattr(watching[0], "asks_innermost", False)
    active[:] = [watching[0] if sole else everyone] if watching else innermost


def add_interposer(interposer: Interposer) -> None:
    """Have all operators, nodes and ranges go through it, until it is removed."""
    interposers.append(interposer)
    watching.append(interposer)


def remove_interposer(interposer: Interposer) -> None:
    """Undo `add_interposer`."""
    interposers.remove(interposer)
    watching.remove(interposer)


def set_innermost(interposer: Interposer | None) -> None:
    """Have all operators go through it last, whoever else watches; None takes it away."""
    innermost[:] = [] if interposer is None else [interposer]
    arrange()


def forget_all() -> None:
    """Have nobody watch any more, as in a process whose parent is observed."""
    interposers.clear()
    innermost.clear()
    watching.clear()
    arrange()


def show_calls(tensor: Any, *names: str) -> None:
    """Let who watches see operators that PyTorch calls where nothing has to be done here."""
    for name in names:
        active[0].op(name, _itself, (tensor,))


def _itself(tensor: Any) -> Any:
    return tensor
