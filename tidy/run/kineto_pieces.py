"""Pieces that PyTorch's profiler exported: its JSON as rows, with the lines of the user's files.

What ran when a piece was cut ends at the cut. Python functions are made of the log of lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from ..profiler.kineto import microseconds
from ..readers.container import Progress, read_blocks
from ..readers.decoder import EventDecoder
from ..readers.event_text import EventText
from ..readers.header import read_header
from ..readers.row_writer import RowWriter
from ..readers.schema import AnyEvent
from ..readers.times import base_time
from ..retiming.time_map import TimeMap
from ..trace.kinds import DEVICE_WORK, EventKind
from ..trace.raw_columns import Column, RawColumns, Strings, Track
from .call_stacks import CallStacks
from .python_calls import shown_path
from .recording import Json, read_logs

Table = dict[str, Column]
# What is numbered in the args of an event, and by whose count.
_NUMBERS = {
    "External id": "External id",
    "correlation": "correlation",
    "wait_on_cuda_event_record_corr_id": "correlation",
    "Ev Idx": "Ev Idx",
}
# Kineto waits for all devices when it is stopped, which it records too.
_WAITS_AT_THE_END = ("cudaDeviceSynchronize", "hipDeviceSynchronize")
_NOTHING = msgspec.Raw()
_encode = msgspec.json.Encoder().encode
_decode_object = msgspec.json.Decoder(Json).decode
_cut_up = msgspec.json.Decoder(list[msgspec.Raw]).decode


class KinetoPieces:
    """The pieces of one recording, one after another.

    Args:
        strings: the texts of all pieces.
        with_texts: whether `texts` will be asked for.
        lost: counts what has to be left out, by reason.

    Attributes:
        device_end_ns: when all that devices did in the piece was done, 0 where they did nothing.
        modules: the identity of each module that was called so far, by `Linear_0`.
        worker_batches: none; the reports of worker processes are in files of their own.
    """

    worker_batches: tuple[()] = ()
    shown_path = staticmethod(shown_path)

    def __init__(self, strings: Strings, with_texts: bool, lost: Counter[str]) -> None:
        self._strings, self._with_texts, self._lost = strings, with_texts, lost
        self._decoder = EventDecoder(lost)
        self._call_stacks = CallStacks()
        self.modules = self._call_stacks.modules
        self._offset: Counter[str] = Counter()  # what is added to the numbers of this piece
        self._next: Counter[str] = Counter()  # the first number that is free after it
        self._named: set[object] = set()

    def read(self, path: Path, facts: Json, progress: Progress | None) -> None:
        """Read the next piece.

        Raises:
            OSError, ValueError, msgspec.MsgspecError: it is not whole.
        """
        rows = RowWriter(self._lost, self._strings)
        rows.in_order = []
        self._texts: list[tuple[AnyEvent, msgspec.Raw, int]] = []  # with its row, -1 for none
        warnings: list[str] = []
        first = 0
        with path.open("rb") as file:
            blocks = read_blocks(file, str(path), warnings.append, progress)
            text = EventText(blocks, self._decode, Counter())
            for pairs in text:
                rows.add([event for event, _ in pairs])
                if self._with_texts:
                    row_of = {id(event): row for row, event in enumerate(rows.in_order, first)}
                    self._texts += [(each, text, row_of.get(id(each), -1)) for each, text in pairs]
                first += len(rows.in_order)
                rows.in_order.clear()
        if not text.found_events or text.tail is None:
            raise ValueError(f"{path}: cut short")
        self._logs = read_logs(path, facts)
        self.header = read_header(text.head, text.tail, warnings)
        self.base_ns = base_time(self.header.get("baseTimeNanoseconds"), warnings)
        self._table, self._flows = rows.raw.concatenate(), rows.raw.concatenate_flows()
        self._memory = rows.raw.concatenate_memory()
        self._table["start_ns"] += self.base_ns
        self._flows["time_ns"] += self.base_ns
        work = np.isin(self._table["kind"], DEVICE_WORK)
        ends = (self._table["start_ns"] + self._table["duration_ns"])[work]
        self.device_end_ns = int(ends.max(initial=0))

    def _decode(self, text: bytes | memoryview) -> list[tuple[AnyEvent, msgspec.Raw]]:
        """The events in a part of the file, each with its text where that is wanted."""
        events = self._decoder.decode(text)
        if not self._with_texts:
            return [(event, _NOTHING) for event in events]
        texts = _cut_up(b"[" + bytes(text).strip(b" \t\r\n,") + b"]")
        if len(texts) == len(events):
            return list(zip(events, texts, strict=True))
        one_by_one = ((self._decoder.decode(bytes(each)), each) for each in texts)
        return [(event, each) for events, each in one_by_one for event in events]

    def append(self, raw: RawColumns, facts: Json, later_ns: int) -> None:
        """Append the rows of the piece; `later_ns` is added to all times."""
        flows, cut_ns = self._flows, facts["cut_ns"]
        if facts.get("has_lines") is not False:
            self._table = self._call_stacks.add(
                self._table, self._strings, flows, facts, self._logs
            )
        table = self._table
        on_host = np.isin(table["kind"], (EventKind.TorchOp, EventKind.Annotation))
        left_ns = np.clip(cut_ns - table["start_ns"], 0, table["duration_ns"])
        table["duration_ns"] = np.where(on_host, left_ns, table["duration_ns"])
        waits = np.isin(
            table["name_id"], [self._strings.names.get(each, -1) for each in _WAITS_AT_THE_END]
        )
        self._own = waits & (table["start_ns"] >= cut_ns)
        table["kind"][self._own] = EventKind.Overhead
        table["start_ns"] += later_ns
        flows["time_ns"] += later_ns
        drawn, flow_id = flows["is_backward"], flows["flow_id"]
        external_id, correlation = table["external_id"], table["correlation"]  # 0 is no number
        numbered = {
            "External id": [(external_id, external_id > 0)],
            "correlation": [(correlation, correlation > 0), (flow_id, ~drawn)],
            "Ev Idx": [(table["tie"], table["tie"] >= 0)],
            "flow": [(flow_id, drawn)],
        }
        self._offset = Counter(
            {counted: self._move(counted, columns) for counted, columns in numbered.items()}
        )
        flows["category_id"] = drawn
        self.op_count = int(np.count_nonzero(table["kind"] == EventKind.TorchOp))
        raw.append_memory(self._memory.pop("row") + raw.row_count, **self._memory)
        raw.append(len(table["kind"]), **table)
        raw.append_flows(**flows)

    def _move(self, counted: str, columns: list[tuple[Column, Column]]) -> int:
        """Move numbers right behind those of the pieces before; by how much.

        Some begin anew in each piece, others go on where the piece before ended, or later. Each
        column stands with which of its rows have a number.
        """
        numbers = np.concatenate([column[some] for column, some in columns])
        if not len(numbers):
            return self._next[counted]
        offset = self._next[counted] - int(numbers.min()) if counted in self._next else 0
        for column, some in columns:
            column[some] += offset
        self._next[counted] = max(self._next[counted], int(numbers.max()) + offset + 1)
        return offset

    def texts(self, base_ns: int, later_ns: int, times: TimeMap | None) -> Iterator[bytes]:
        """Return the events as they stand in the file: as PyTorch wrote them, with what was
        changed.
        """
        table, stacks = self._table, list(self._strings.stacks)
        if times is not None:
            times.change(table, self._strings)
        starts, stack_ids = table["start_ns"].tolist(), table["stack_id"].tolist()
        lengths = table["duration_ns"].tolist()
        for event, text, row in self._texts:
            found = _decode_object(text)
            if row >= 0:
                found["ts"] = microseconds(starts[row] - base_ns)
                if "dur" in found:
                    found["dur"] = microseconds(lengths[row])
                if stack_ids[row] >= 0:
                    found.setdefault("args", {})["Call stack"] = stacks[stack_ids[row]]
                if self._own[row]:
                    found["cat"] = "overhead"
            elif event.ph == "M":
                place = event.name, event.pid, event.tid
                if place in self._named:
                    continue
                self._named.add(place)
            if row < 0 and isinstance(found.get("ts"), (int, float)):
                time_ns = round(found["ts"] * 1000) + self.base_ns + later_ns
                if times is not None:
                    track = Track(event.pid or 0, event.tid or 0)
                    time_ns = int(times.of(track, np.array([time_ns]))[0])
                found["ts"] = microseconds(time_ns - base_ns)
            self._move_text(found)
            yield _encode(found)
        calls = self._call_stacks.calls
        first = len(starts) - len(calls)
        columns = (column[first:] for column in (starts, lengths, stack_ids))
        for call, start_ns, length_ns, stack_id in zip(calls, *columns, strict=True):
            args = {"Python id": call.number, "Python parent id": call.caller}
            if stack_id >= 0:
                args["Call stack"] = stacks[stack_id]
            yield _encode(
                {
                    "ph": "X",
                    "cat": "python_function",
                    "name": call.name,
                    "pid": call.track.pid,
                    "tid": call.track.tid,
                    "ts": microseconds(start_ns - base_ns),
                    "dur": microseconds(length_ns),
                    "args": args,
                }
            )

    def _move_text(self, found: Json) -> None:
        """Move the numbers of an event as those of its row were moved."""
        args = found.get("args") or {}
        for name, counted in _NUMBERS.items():
            number = args.get(name)
            # 0 is a number for Ev Idx, and none for the others.
            if isinstance(number, int) and number >= (name != "Ev Idx"):
                args[name] = number = number + self._offset[counted]
                self._next[counted] = max(number + 1, self._next[counted])
        if found.get("ph") in ("s", "f") and isinstance(found.get("id"), int):
            # An arrow to device work has the number of its correlation.
            counted = "flow" if found.get("cat") == "fwdbwd" else "correlation"
            found["id"] += self._offset[counted]
