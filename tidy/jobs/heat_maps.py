"""Ranks against steps: how late each rank is in each step, as data and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .table import Floats, Ints
from .words import ranks_text

MOST_ROWS = 32
_SHADES, _ASCII_SHADES = " ░▒▓█", " .:*#"
_NOT_KNOWN, _ASCII_NOT_KNOWN = "·", "?"


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A map of at most 32 rows.

    Attributes:
        labels: what each row is called.
        ranks: the ranks of each row; of several each cell has the highest value.
        hosts: the node of each row, "" if not known or of several.
        steps: the first and the last step of each column; shape (columns, 2).
        values_ns: NaN if not known; shape (rows, columns).
        full_ns: the value of the darkest shade.
    """

    labels: tuple[str, ...]
    ranks: tuple[tuple[int, ...], ...]
    hosts: tuple[str, ...]
    steps: Ints
    values_ns: Floats
    full_ns: float

    def text(self, *, ascii_only: bool = False) -> str:
        """Draw the map, one line a row, under a line with the first and the last step."""
        shades = _ASCII_SHADES if ascii_only else _SHADES
        unknown = _ASCII_NOT_KNOWN if ascii_only else _NOT_KNOWN
        wide = max(map(len, self.labels), default=0)
        first, last = (str(self.steps[at, at]) for at in (0, -1)) if len(self.steps) else ("", "")
        if len(self.steps) == 1:
            first, last = str(self.steps[0, 0]), ""
        gap = " " * max(1, len(self.steps) - len(first) - len(last))
        lines = [f"{'step':>{wide}}  {first}{gap}{last}".rstrip()]
        level = np.nan_to_num(self.values_ns) / max(self.full_ns, 1.0) * (len(shades) - 1)
        level = np.clip(np.rint(level), 0, len(shades) - 1).astype(int)
        for label, row, values in zip(self.labels, level.tolist(), self.values_ns, strict=True):
            known = np.isfinite(values).tolist()
            cells = [
                shades[n] if is_known else unknown for n, is_known in zip(row, known, strict=True)
            ]
            lines.append(f"{label:>{wide}}  {''.join(cells)}".rstrip())
        return "\n".join(lines)


def heat_map(
    ranks: Sequence[int],
    steps: Ints,
    values_ns: Floats,
    *,
    ordinary_ns: float = 0.0,
    hosts: Mapping[int, str] | None = None,
    most_columns: int = 60,
) -> HeatMap:
    """Make a map of values by rank and step, what stands out first, a node's rows together.

    Args:
        ranks: shape (r,).
        steps: shape (s,).
        values_ns: NaN if not known; shape (r, s).
        ordinary_ns: values up to this do not stand out.
        hosts: the node of each rank, if known.
        most_columns: where there are more steps, several share one column.
    """
    values = np.asarray(values_ns, float)
    score = np.where(np.isfinite(values) & (values > ordinary_ns), values, 0.0).sum(axis=1)
    host = [(hosts or {}).get(rank, "") for rank in ranks]
    rows = _rows(score, host)
    columns = np.array_split(np.arange(len(steps)), min(most_columns, len(steps)) or 1)
    columns = [each for each in columns if len(each)]
    cells = [[_highest(values[row][:, column]) for column in columns] for row in rows]
    of_rows = tuple(tuple(int(ranks[place]) for place in row) for row in rows)
    names = [{host[place] for place in row} for row in rows]
    of_hosts = tuple(next(iter(each)) if len(each) == 1 else "" for each in names)
    labels = tuple(
        f"{node}: {ranks_text(row, ranks)}" if node else ranks_text(row, ranks)
        for row, node in zip(of_rows, of_hosts, strict=True)
    )
    spans = np.array([[steps[each[0]], steps[each[-1]]] for each in columns], np.int64)
    array = np.array(cells, float).reshape(len(rows), len(columns))
    known = array[np.isfinite(array)]
    full = max(float(known.max(initial=0.0)), ordinary_ns)
    return HeatMap(labels, of_rows, of_hosts, spans.reshape(-1, 2), array, full)


def _rows(score: Floats, host: Sequence[str]) -> list[list[int]]:
    """Choose the ranks of each row, by their places."""
    of_host = dict[str, float]()
    for place, node in enumerate(host):
        of_host[node] = max(of_host.get(node, 0.0), float(score[place]))

    def key(place: int) -> tuple[float, str, float, int]:
        return -of_host[host[place]], host[place], -float(score[place]), place

    places = sorted(range(len(host)), key=key)
    if len(places) <= MOST_ROWS:
        return [[place] for place in places]
    outstanding = sorted((place for place in places if score[place] > 0), key=lambda p: -score[p])
    alone = set(outstanding[: MOST_ROWS // 2])
    rest = dict[str, list[int]]()
    for place in places:
        if place not in alone:
            rest.setdefault(host[place], []).append(place)
    rows = [[place] for place in places if place in alone]
    room = MOST_ROWS - len(rows)
    others = [sorted(each) for each in rest.values()]
    if len(others) > room:
        left = sorted(place for row in others[room - 1 :] for place in row)
        others = [*others[: room - 1], left]
    return rows + others


def _highest(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.max()) if len(known) else float("nan")
