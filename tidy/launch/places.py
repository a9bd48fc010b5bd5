"""Putting the user's lines into the events of a piece.

Each op, range and frame of a library gets `Call stack`: the user's frames when it started,
innermost first. A backward op gets the frames of its forward, and what runs inside it gets frames
only where code of the user runs there (a hook, a custom function); all else inside has the place of
the backward op above it.
"""

from __future__ import annotations

import os
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..trace.links import forward_threads
from ..trace.location import is_user_file
from .frames import NONE, Replay, Stacks, ThreadLines
from .recording import Json, Piece

_FRAME = re.compile(r"(.+)(\(\d+\): .+)", re.DOTALL)
_OPS = ("cpu_op", "user_annotation")
_PY_CALL = "python_function"
_MOST_FRAMES = 50


class _Timed(NamedTuple):
    """An event, when it starts, the stack then, and when that one's line was reached."""

    event: Json
    start_ns: int
    stack: int
    since_ns: int


class Places:
    """Knows the frames of all threads; pieces are given in order."""

    def __init__(self) -> None:
        self._stacks = Stacks()
        self._replays: dict[int, Replay] = {}
        self._texts: dict[int, str] = {}
        self._codes: Sequence[Any] = ()
        self._forward: dict[tuple[int, int], int] = {}
        self._threads: dict[int, int] = {}
        self._names: dict[str, str] = {}

    def add(self, piece: Piece, base_ns: int) -> None:
        """Put the places into the events of the next piece."""
        self._codes = piece.facts.get("codes") or ()
        self._rename_frames(piece)
        by_thread = self._timed(piece, base_ns)
        self._learn_forward_threads(piece.events)
        for thread, timed in by_thread.items():
            self._learn_forward(thread, timed)
        for timed in by_thread.values():
            self._place(timed)

    def _timed(self, piece: Piece, base_ns: int) -> dict[int, list[_Timed]]:
        """The events that get a place, by thread and by start."""
        found: defaultdict[int, list[Json]] = defaultdict(list)
        for event in piece.events:
            if event.get("ph") == "X" and event.get("cat") in (*_OPS, _PY_CALL):
                found[event["tid"]].append(event)
        lines = dict[int, ThreadLines]()
        for thread, triples in piece.logs.items():
            replay = self._replays.setdefault(thread, Replay(self._stacks))
            lines[thread] = replay.read(triples)
        result = {}
        for thread, events in found.items():
            # An outer event first; Python's frames stand after ops in the file.
            events.sort(key=lambda e: (e["ts"], -e.get("dur", 0), e.get("cat") != _PY_CALL))
            starts = np.array([base_ns + round(e["ts"] * 1000) for e in events], np.int64)
            stacks, since = lines.get(thread, ThreadLines.nothing()).at(starts)
            columns = starts.tolist(), stacks.tolist(), since.tolist()
            result[thread] = [_Timed(*row) for row in zip(events, *columns, strict=True)]
        return result

    def _learn_forward_threads(self, events: list[Json]) -> None:
        """Which thread each of PyTorch's small thread ids is."""
        ops = [e for e in events if e.get("cat") in _OPS and "Sequence number" in e.get("args", ())]
        if not ops:
            return
        threads = sorted({e["tid"] for e in ops})
        number = {thread: i for i, thread in enumerate(threads)}
        arrows = [e for e in events if e.get("cat") == "fwdbwd"]
        source = {e["id"]: e["tid"] for e in arrows if e["ph"] == "s"}
        at = {(e["tid"], e["ts"]): i for i, e in enumerate(ops) if e["args"].get("Fwd thread id")}
        drawn = [
            (at[e["tid"], e["ts"]], number[source[e["id"]]])
            for e in arrows
            if e["ph"] == "f" and (e["tid"], e["ts"]) in at and source.get(e["id"]) in number
        ]
        found = forward_threads(
            np.array([number[e["tid"]] for e in ops], np.int32),
            np.array([e["args"]["Sequence number"] for e in ops], np.int64),
            np.array([e["args"].get("Fwd thread id", 0) for e in ops], np.int32),
            drawn,
        )
        for small_id, index in found.items():
            self._threads.setdefault(small_id, threads[index])

    def _learn_forward(self, thread: int, timed: list[_Timed]) -> None:
        """Among forward ops with one sequence number the latest start wins."""
        for each in timed:
            args = each.event.get("args", {})
            sequence = args.get("Sequence number", -1)
            if sequence >= 0 and not args.get("Fwd thread id"):
                self._forward[thread, sequence] = each.stack

    def _place(self, timed: list[_Timed]) -> None:
        inside: list[tuple[float, int]] = []  # open backward ops: end in us, start in ns
        for event, start_ns, current, since_ns in timed:
            args = event.setdefault("args", {})
            while inside and inside[-1][0] < event["ts"]:
                inside.pop()
            stack = current
            if args.get("Fwd thread id"):
                thread = self._threads.get(args["Fwd thread id"], NONE)
                forward = self._forward.get((thread, args.get("Sequence number", NONE)), NONE)
                stack = forward if forward != NONE else current
                inside.append((event["ts"] + event.get("dur", 0), start_ns))
            elif inside and since_ns < inside[-1][1]:
                continue
            if stack != NONE and not (event["cat"] == _PY_CALL and self._is_users(event["name"])):
                args["Call stack"] = self._text(stack)

    def _is_users(self, frame: str) -> bool:
        match = _FRAME.fullmatch(frame)
        return match is not None and match[1] in self._shown

    def _text(self, stack: int) -> str:
        found = self._texts.get(stack)
        if found is None:
            frames = list[str]()
            at = stack
            while at != NONE and len(frames) < _MOST_FRAMES:
                at, code, line = self._stacks.nodes[at]
                file, function, _ = self._codes[code]
                frames.append(f"{shown_path(file)}({line}): {function}")
            found = self._texts[stack] = ";".join(frames)
        return found

    def _rename_frames(self, piece: Piece) -> None:
        """Name the user's files in Kineto's frames, which cuts them at sys.path, as here."""
        prefixes = piece.facts.get("prefixes") or ()
        for file, _, _ in self._codes:
            cut = next((file[len(p) :] for p in prefixes if file.startswith(p)), file)
            self._names[cut] = shown_path(file)
        self._shown = set(self._names.values())
        renamed: dict[str, str] = {}
        for event in piece.events:
            if event.get("cat") == _PY_CALL:
                name = event["name"]
                if name not in renamed:
                    match = _FRAME.fullmatch(name)
                    known = match and self._names.get(match[1])
                    renamed[name] = f"{known}{match[2]}" if match and known else name
                event["name"] = renamed[name]


def shown_path(file: str) -> str:
    """A file of the user as the report names it: relative where it is below the working directory.

    `./` stands before what could be taken for a library.
    """
    folder = os.getcwd() + os.sep  # noqa: PTH109
    if not file.startswith(folder):
        return file.replace("\\", "/")
    relative = file[len(folder) :].replace("\\", "/")
    is_safe = is_user_file(relative) and relative.partition("/")[0] not in sys.stdlib_module_names
    return relative if is_safe else f"./{relative}"
