"""Calls of a module that got the same inputs as one before, where a recording tells it.

`tidy run` knows which tensors a module gets. It writes into the header, for each two places that
call a module on the same inputs with no step of an optimizer between, or one:

    "tidy_repeated_calls": [{"module": "Net", "first": ["train.py(33): main"],
      "again": ["train.py(40): main"], "first_grad": true, "again_grad": false,
      "after_step": false, "steps": 20, "proofs": 8}]

The places are stacks of the user's lines, innermost first. A list with nothing in it says that
there was none; without the key nobody looked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .event_table import EventTable

_KEY = "tidy_repeated_calls"


@dataclass(frozen=True)
class RepeatedCall:
    """Two places that call a module on the same inputs.

    Attributes:
        module: its class.
        first, again: the user's frames of both, `file(line): function`, innermost first.
        first_grad, again_grad: whether gradients were recorded.
        after_step: whether a step of an optimizer came between.
        steps: in how many steps of those that were recorded in full.
        proofs: how often it was seen that neither module nor inputs had changed; not looked at
            after a step.
    """

    module: str
    first: tuple[str, ...]
    again: tuple[str, ...]
    first_grad: bool
    again_grad: bool
    after_step: bool
    steps: int
    proofs: int


_TYPES = {
    "module": str, "first": list, "again": list, "first_grad": bool, "again_grad": bool,
    "after_step": bool, "steps": int, "proofs": int,
}  # fmt: skip


def header_of(facts: Mapping[str, Any], shown_path: Callable[[str], str]) -> dict[str, Any]:
    """Return the header of what a piece noted as `repeated`, with files as locations have them."""
    noted = facts.get("repeated")
    if noted is None:
        return {}
    entries = []
    for module, first, again, *rest in noted:
        stacks = (
            [f"{shown_path(file)}({line}): {function}" for file, line, function in stack]
            for stack in (first, again)
        )
        entries.append(dict(zip(_TYPES, (module, *stacks, *rest), strict=True)))
    return {_KEY: entries}


def repeated_calls(trace: EventTable) -> list[RepeatedCall] | None:
    """Return all that the header tells of; None if nobody looked."""
    noted = trace.info.header.get(_KEY)
    if not isinstance(noted, list):
        return None
    found = list[RepeatedCall]()
    for entry in noted:
        if not isinstance(entry, Mapping):
            continue
        values = {name: entry.get(name) for name in _TYPES}
        if all(type(values[name]) is kind for name, kind in _TYPES.items()):
            stacks = {name: tuple(map(str, values[name] or ())) for name in ("first", "again")}
            if all(stacks.values()):
                found.append(RepeatedCall(**{**values, **stacks}))  # type: ignore[arg-type]
    return found
