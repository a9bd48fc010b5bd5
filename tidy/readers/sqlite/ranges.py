"""NVTX ranges: operators with their sequence numbers, and which thread a backward's forward ran on.

The text of a backward range has the number of its forward, but not the forward's thread, and
numbers are counted per thread. Where one thread alone has an operator with that number, it is that
thread; otherwise it is the backward's own thread if that has one, as in a backward on the CPU. What
is left is not linked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...trace.kinds import EventKind
from .activities import Activities, Integers
from .database import Columns
from .range_text import ENGINE, parse_range

Table = dict[str, NDArray[Any]]

_UNLINKED = "links of backward ops whose forward may be on several threads"


class Ranges:
    """Collects ranges of all threads; `write` links them and adds them to the activities."""

    def __init__(self, activities: Activities) -> None:
        self._activities = activities
        self._blocks: list[Table] = []
        self.op_count = 0

    def add(self, columns: Columns, texts: list[str]) -> None:
        """Add ranges; columns start, end, pid, tid. One that ends before it starts never ended."""
        if not texts:
            return
        is_open = columns["end"] < columns["start"]
        columns = {**columns, "end": np.where(is_open, columns["start"], columns["end"])}
        good, start, duration = self._activities.timed(columns)
        for pid in np.unique(columns["pid"]).tolist():
            _ = self._activities.processes[pid]
        parsed = [parse_range(text) for text, keep in zip(texts, good, strict=True) if keep]
        names = self._activities.raw.strings.names
        self.op_count += sum(each.is_op for each in parsed)
        kinds = [EventKind.TorchOp if each.is_op else EventKind.Annotation for each in parsed]
        self._blocks.append(
            {
                "name_id": np.array([names[each.name] for each in parsed], np.int32),
                "kind": np.array(kinds, np.uint8),
                "start_ns": start,
                "duration_ns": duration,
                "track_id": self._activities.tracks(columns["pid"], columns["tid"])[good],
                "sequence_nr": np.array([each.sequence_nr for each in parsed], np.int64),
                "inputs_id": np.array([self._inputs(each.sizes) for each in parsed], np.int32),
                "is_backward": np.array([each.is_backward for each in parsed], np.bool_),
                "is_open": is_open[good],
                "pid": columns["pid"][good],
            }
        )

    def _inputs(self, sizes: str) -> int:
        if not sizes:
            return -1
        strings = self._activities.raw.strings
        parts = (sizes.encode(), b"", b"", b"")
        return strings.signatures[tuple(strings.texts[part] for part in parts)]

    def write(self) -> None:
        """Add all ranges to the columns; those still open end with the recording."""
        if not self._blocks:
            return
        table = {
            name: np.concatenate([block[name] for block in self._blocks])
            for name in self._blocks[0]
        }
        self._blocks.clear()
        is_open, start = table.pop("is_open"), table["start_ns"]
        if is_open.any():
            until = np.int64(self._activities.latest_ns)
            table["duration_ns"] = np.where(is_open, until - start, table["duration_ns"])
            self._activities.lost["ends of ranges that never ended (taken as the last)"] += int(
                np.count_nonzero(is_open)
            )
        self._share_with_engine(table)
        table["forward_thread"] = self._link(table)
        self._activities.raw.append(len(start), **table)

    def _share_with_engine(self, table: Table) -> None:
        """Give the sequence number of a node to the engine's range around it, as Kineto does."""
        names = self._activities.raw.strings.names
        node_of = np.full(len(names), -1, np.int64)
        for name, name_id in list(names.items()):
            if name.startswith(ENGINE):
                node_of[name_id] = names.get(name.removeprefix(ENGINE), -1)
        is_node = node_of[table["name_id"]] < 0
        order = np.lexsort((is_node, -table["duration_ns"], table["start_ns"], table["track_id"]))
        outer, inner = order[:-1], order[1:]
        same = node_of[table["name_id"][outer]] == table["name_id"][inner]
        same &= table["track_id"][outer] == table["track_id"][inner]
        table["kind"][inner[same]] = EventKind.TorchOp  # AccumulateGrad has neither :: nor number
        same &= table["sequence_nr"][inner] >= 0
        table["is_backward"][inner[same]] = True
        for column in ("sequence_nr", "is_backward"):
            table[column][outer[same]] = table[column][inner[same]]

    def _link(self, table: Table) -> NDArray[np.int32]:
        """The small id of each op's forward thread, which is here the thread's track plus 1."""
        sequence_nr, track = table["sequence_nr"], table["track_id"]
        pid, backward = table.pop("pid"), table.pop("is_backward") & (sequence_nr >= 0)
        forward = ~backward & (sequence_nr >= 0)
        result = np.zeros(len(track), np.int32)
        wanted = np.flatnonzero(backward)
        found = np.full(len(wanted), -1, np.int64)
        count = np.zeros(len(wanted), np.int64)
        own = np.zeros(len(wanted), np.bool_)
        for thread in np.unique(track[forward]).tolist():
            ops = np.flatnonzero(forward & (track == thread))
            has = np.isin(sequence_nr[wanted], sequence_nr[ops]) & (pid[wanted] == pid[ops[0]])
            found[has & ~own] = thread
            count += has
            own |= has & (track[wanted] == thread)
        # A forward that was not recorded is as if it had been on the backward's thread.
        found = np.where(count == 0, track[wanted], found)
        sure = (count <= 1) | own
        result[wanted[sure]] = found[sure] + 1
        sequence_nr[wanted[~sure]] = -1
        self._activities.lost[_UNLINKED] += int(np.count_nonzero(~sure))
        self._draw_arrows(table, wanted[sure], found[sure])
        return result

    def _draw_arrows(self, table: Table, ops: Integers, threads: Integers) -> None:
        """One arrow from each forward thread, which tells what its small id stands for."""
        known, first = np.unique(threads, return_index=True)
        count = len(known)
        ops = ops[first]
        self._activities.raw.append_flows(
            flow_id=np.tile(np.arange(count), 2),
            category_id=np.zeros(2 * count),
            is_end=np.repeat([False, True], count),
            is_backward=np.ones(2 * count),
            track_id=np.concatenate([known, table["track_id"][ops]]),
            time_ns=np.tile(table["start_ns"][ops], 2),
        )
