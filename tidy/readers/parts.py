"""Parts of a trace's rows, with texts numbered from 0, and how they become one whole.

A part is what a worker process makes of some pieces of the file. Its names, threads, inputs and
stacks are numbered in order of first use, as those of the whole are: joined in order, parts give
the columns that one process makes of all pieces, number for number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..trace.raw_columns import Column, Interner
from .row_writer import RowWriter


@dataclass(slots=True)
class PartOfRows:
    """The rows that a RowWriter made of some pieces; nothing in it depends on other pieces."""

    row_count: int
    rows: dict[str, Column]
    flows: dict[str, Column]
    memory: dict[str, Column]
    names: list[str]
    tracks: list[Any]
    texts: list[bytes]
    signatures: list[tuple[int, ...]]
    stacks: list[str]
    flow_categories: list[str]
    lost: Counter[str]
    unknown: Counter[str]
    accelerators: set[str]
    event_count: int
    known_count: int


def part_of(rows: RowWriter) -> PartOfRows:
    """Take all rows out of a writer that has tables of texts of its own."""
    raw, strings = rows.raw, rows.raw.strings
    return PartOfRows(
        raw.row_count,
        raw.concatenate_given(),
        raw.concatenate_flows(),
        raw.concatenate_memory(),
        list(strings.names),
        list(strings.tracks),
        list(strings.texts),
        list(strings.signatures),
        list(strings.stacks),
        list(rows.flow_categories),
        rows.lost,
        rows.unknown,
        rows.accelerators,
        rows.event_count,
        rows.known_count,
    )


def join_part(rows: RowWriter, part: PartOfRows) -> None:
    """Append the rows of a part, with the numbers that its texts have in the whole."""
    raw, strings = rows.raw, rows.raw.strings
    texts = [strings.texts[text] for text in part.texts]
    signatures = _renumbered(part.signatures, texts)
    numbers = {
        "name_id": _numbers(strings.names, part.names),
        "track_id": _numbers(strings.tracks, part.tracks),
        "inputs_id": _numbers(strings.signatures, signatures),
        "stack_id": _numbers(strings.stacks, part.stacks),
        "category_id": _numbers(rows.flow_categories, part.flow_categories),
    }
    for table in (part.rows, part.flows):
        for name in numbers.keys() & table.keys():
            table[name] = numbers[name][table[name]]
    part.memory["row"] += raw.row_count
    raw.append(part.row_count, **part.rows)
    raw.append_flows(**part.flows)
    raw.append_memory(part.memory.pop("row"), **part.memory)
    rows.lost.update(part.lost)
    rows.unknown.update(part.unknown)
    rows.accelerators |= part.accelerators
    rows.event_count += part.event_count
    rows.known_count += part.known_count


def _renumbered(signatures: list[tuple[int, ...]], texts: list[int]) -> list[tuple[int, ...]]:
    """Signatures with the number that each text has in the whole."""
    if {*map(len, signatures)} - {4}:  # those of collectives have a fifth
        return [tuple([texts[text] for text in each]) for each in signatures]
    # Written out this takes half of the above.
    return [(texts[a], texts[b], texts[c], texts[d]) for a, b, c, d in signatures]


def _numbers(table: Interner, texts: Iterable[Any]) -> Column:
    """The number of each text in a table; the last is for texts that are missing, -1."""
    return np.array([*[table[text] for text in texts], -1], np.int32)
