"""Putting the user's functions and lines into the rows of a piece that PyTorch exported.

Python functions become rows of their own (python_calls.py). Each op, range, function of a library,
and call of the driver that is in no op gets `Call stack`: the user's frames when it started,
innermost first. A backward op gets the frames of its forward, and what runs inside it gets frames
only where code of the user runs there (a hook, a custom function); all else inside has the place of
the backward op above it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..trace.kinds import EventKind
from ..trace.links import find_forward_threads
from ..trace.location import NO_LINE_KNOWN
from ..trace.raw_columns import Column, Rows, Strings, Track
from .frames import NO_LINE, NONE, NOT_FOLLOWED, FrameStacks, Replay, ThreadLines, long_lines
from .python_calls import PythonCall, PythonCalls, rows_of, shown_path
from .recording import Json, Triples

Table = dict[str, Column]

_PLACED = (EventKind.TorchOp, EventKind.Annotation, EventKind.PyCall)
_MOST_FRAMES = 50


class CallStacks:
    """Knows the frames of all threads; pieces are given in order.

    Attributes:
        calls: the Python functions of the piece that was given last.
        modules: the identity of each module by what it is named in them, `Linear_0`.
    """

    def __init__(self) -> None:
        self.calls: list[PythonCall] = []
        self._python_calls = PythonCalls()
        self.modules = self._python_calls.modules
        self._stacks = FrameStacks()
        self._replays: dict[int, Replay] = {}
        self._texts: dict[int, str] = {}
        self._codes: Sequence[Any] = ()
        self._forward: dict[tuple[int | str, int], int] = {}  # thread, sequence number: stack
        self._threads: dict[int, int | str] = {}  # of PyTorch's small thread ids

    def add(
        self,
        table: Table,
        strings: Strings,
        flows: Table,
        facts: Json,
        logs: Mapping[int, Triples],
    ) -> Table:
        """Return the rows of the next piece and, after them, those of its functions, with their
        places.
        """
        self._codes = facts.get("codes") or ()
        lines = self._replay(facts, logs)
        began = {thread: _began(table, strings, facts["pid"], thread) for thread in lines}
        self.calls = self._python_calls.read(
            lines, self._codes, facts["pid"], began, facts.get("collections") or ()
        )
        of_lines = self._long_lines(began, lines, facts)
        own = rows_of(self.calls, strings)
        table = {name: np.concatenate([table[name], own[name]]) for name in table}
        start, kind, track_id = table["start_ns"], table["kind"], table["track_id"]
        rows = np.flatnonzero(np.isin(kind, _PLACED) | _calls_in_no_op(table))
        tracks = list(strings.tracks)
        for small, track in find_forward_threads(table, rows, flows).items():
            self._threads.setdefault(small, tracks[track].tid)
        # An outer event first; of equal ones a Python function.
        is_op = kind[rows] != EventKind.PyCall
        rows = rows[np.lexsort((is_op, -table["duration_ns"][rows], start[rows]))]
        placed: list[tuple[Rows, Rows, Rows]] = []
        for track in np.unique(track_id[rows]).tolist():
            tid, mine = tracks[track].tid, rows[track_id[rows] == track]
            known = lines[tid] if isinstance(tid, int) and tid in lines else NOT_FOLLOWED
            stacks, since_ns = known.at(start[mine])
            # Among forward ops with one sequence number the latest start wins.
            numbers = table["sequence_nr"][mine]
            some = (numbers >= 0) & (table["forward_thread"][mine] == 0)
            keys = ((tid, number) for number in numbers[some].tolist())
            self._forward.update(zip(keys, stacks[some].tolist(), strict=True))
            placed.append((mine, stacks, since_ns))
        users = [strings.names[each.name] for each in self.calls if each.is_users]
        for mine, stacks, since_ns in placed:
            found = self._place(table, mine, stacks, since_ns)
            known_ids = table["name_id"][mine]
            found[np.isin(known_ids, users) & (kind[mine] == EventKind.PyCall)] = NONE
            some_rows = np.flatnonzero(found != NONE)
            texts = [strings.stacks[self._text(stack)] for stack in found[some_rows].tolist()]
            table["stack_id"][mine[some_rows]] = texts
        if of_lines:
            texts = [strings.stacks[self._text(stack)] for stack in of_lines]
            table["stack_id"][-len(of_lines) :] = texts
        return table

    def _long_lines(
        self,
        began: Mapping[int, NDArray[np.int64]],
        lines: Mapping[int, ThreadLines],
        facts: Json,
    ) -> list[int]:
        """Append the lines of the user's that take long to the calls; their stacks."""
        found: list[int] = []
        bounds = sorted({facts["start_ns"], *facts["steps_ns"], facts["cut_ns"]})
        of_libraries = [each for each in self.calls if not each.is_users]
        for thread, each in lines.items():
            track = Track(facts["pid"], thread)
            calls = [(c.start_ns, c.end_ns) for c in of_libraries if c.track == track]
            of_calls = np.array(calls, np.int64).reshape(-1, 2).T
            all_began = np.concatenate([began[thread], of_calls], axis=1)
            for start_ns, end_ns, stack in long_lines(each, self._stacks, all_began, bounds):
                name = self._text(stack).partition(";")[0]
                self.calls.append(self._python_calls.line(track, name, start_ns, end_ns))
                found.append(stack)
        return found

    def _replay(self, facts: Json, logs: Mapping[int, Triples]) -> dict[int, ThreadLines]:
        """What was open on each thread; one that logged nothing is still where it was."""
        kinds = [each[3] for each in self._codes]
        for thread in logs:
            self._replays.setdefault(thread, Replay(self._stacks))
        nothing = np.empty((0, 3), np.int64)
        return {
            thread: replay.read(
                logs.get(thread, nothing), kinds, facts["start_ns"], facts["cut_ns"]
            )
            for thread, replay in self._replays.items()
        }

    def _place(self, table: Table, rows: Rows, stacks: Rows, since_ns: Rows) -> Rows:
        """The stack of each row of a thread, NONE for none."""
        starts = table["start_ns"][rows]
        columns = (
            starts,
            starts + table["duration_ns"][rows],
            table["forward_thread"][rows],
            table["sequence_nr"][rows],
            stacks,
            since_ns,
        )
        found: list[int] = []
        inside: list[tuple[int, int]] = []  # open backward ops: (end, start)
        for start, end, small, number, current, since in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            while inside and inside[-1][0] < start:
                inside.pop()
            stack = current
            if small:
                forward = self._forward.get((self._threads.get(small, NONE), number), NONE)
                stack = forward if forward != NONE else current
                inside.append((end, start))
            elif inside and since < inside[-1][1]:
                stack = NONE
            found.append(stack)
        return np.array(found, np.int64)

    def _text(self, stack: int) -> str:
        text = self._texts.get(stack)
        if text is None:
            frames = list[str]()
            at = stack
            while at != NONE and len(frames) < _MOST_FRAMES:
                at, code, line = self._stacks.nodes[at]
                file, function, first_line, _ = self._codes[code]
                end = NO_LINE_KNOWN if line <= NO_LINE else ""
                shown = line if line > NO_LINE else first_line
                frames.append(f"{shown_path(file)}({shown}): {function}{end}")
            text = self._texts[stack] = ";".join(frames)
        return text


def _began(table: Table, strings: Strings, pid: int, thread: int) -> NDArray[np.int64]:
    """Starts, ascending, and ends of the operators and ranges of a thread, shape (2, k)."""
    some = np.isin(table["kind"], (EventKind.TorchOp, EventKind.Annotation))
    some &= table["track_id"] == strings.tracks[Track(pid, thread)]
    start, duration = table["start_ns"][some], table["duration_ns"][some]
    order = np.argsort(start, kind="stable")
    return np.stack([start, start + duration])[:, order]


def _calls_in_no_op(table: Table) -> NDArray[np.bool_]:
    """Which rows are calls of the driver that no op makes, such as the launch of a graph."""
    found: NDArray[np.bool_] = np.equal(table["kind"], EventKind.Runtime)
    is_op = table["kind"] == EventKind.TorchOp
    start, end = table["start_ns"], table["start_ns"] + table["duration_ns"]
    for track in np.unique(table["track_id"][found]).tolist():
        on_track = table["track_id"] == track
        ops = np.flatnonzero(on_track & is_op)
        ops = ops[np.argsort(start[ops], kind="stable")]
        calls = np.flatnonzero(on_track & found)
        before = np.searchsorted(start[ops], start[calls], side="right")
        latest = np.concatenate([[0], np.maximum.accumulate(end[ops])])
        found[calls] = latest[before] <= start[calls]
    return found
