"""The flame graph of a page, as columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..check.checked_trace import CheckedTrace
from ..trace import printable
from .columns import packed

_SMALLEST = 1 / 5_000  # of all time of the host, or of devices: less is not drawn
_LONGEST_NAME = 300


def flame_to_json(report: CheckedTrace) -> dict[str, Any] | None:
    """Return the nodes that are wide enough to see, parents first; None if there are none."""
    graph = report.accountant.flame_graph()
    sides = graph.host_ns, graph.device_ns
    roots = graph.parent < 0
    whole_ns = [int(side[roots].sum()) for side in sides]
    shown = np.zeros(len(graph.names), bool)
    for side, whole in zip(sides, whole_ns, strict=True):
        shown |= side > _SMALLEST * whole
    if not shown.any():
        return None
    # A node is at least as wide as those below it, so that parents of shown ones are shown.
    number = np.cumsum(shown) - 1
    parent = graph.parent[shown]
    names: dict[str, int] = {}
    chosen = (graph.names[node][:_LONGEST_NAME] for node in np.flatnonzero(shown).tolist())
    name = np.array([names.setdefault(each, len(names)) for each in chosen], np.int64)
    columns = {
        "parent": np.where(parent >= 0, number[parent], -1),
        "name": name,
        "host_ns": sides[0][shown],
        "device_ns": sides[1][shown],
    }
    return {
        "nodes": packed(columns, frozenset({"parent"})),
        "names": list(map(printable, names)),
        "whole_ns": {"host": whole_ns[0], "device": whole_ns[1]},
    }
