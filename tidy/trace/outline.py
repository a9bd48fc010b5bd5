"""Traces as indented text, for examples, documentation and failure messages.

    # device 0 NVIDIA A100 8.0 40GiB
    train.py(12): train
      aten::to
        aten::copy_ 20us | float[4, 4], float[4, 4], =False
          cudaMemcpyAsync
            => Memcpy HtoD (Pageable -> Device) 3us 64B

One line an event, two spaces a level, in order of start. An event lasts 1 us, or until its
children are done, unless it says `N us` of its own. After `|` stand the inputs: a type with dims, a
type alone, `TensorList[4, 4; 1, 4]` for tensors in a list, `=text` for a concrete value, `-` for
None. `=>` marks device work that the call above launched, on device 0 unless it ends in `cuda:1`.
`[memory] 512B at 7 of 4096/8192` is memory taken on the device at address 7, after which tensors
hold 4096 bytes and the allocator 8192. `-512B` gives it back; without `/8192` it is the CPU's.
`@train.py(12): train` names the line that called, as tidy's own recordings have it.
`seq=4` is a sequence number, `seq=4/1` that of a backward op whose forward ran on thread 1.
Lines that begin with # set what the header says; `thread N` starts another thread at time 0.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from .build import build_trace
from .info import TraceInfo
from .kinds import EventKind
from .raw_columns import RawColumns, Track
from .trace import Trace

_EVENT = re.compile(
    r"(?P<arrow>=> )?(?P<name>.*?)(?: (?P<duration_us>\d+)us)?(?: (?P<nbytes>-?\d+)B)?"
    r"(?: cuda:(?P<device>\d+))?"
    r"(?: at (?P<address>\d+) of (?P<allocated>\d+)(?:/(?P<reserved>\d+))?)?"
    r"(?: seq=(?P<sequence_nr>\d+)(?:/(?P<forward_thread>\d+))?)?"
    r"(?: @(?P<stack>\S+\(\d+\): [\w<>]+))?"
)
_INPUT = re.compile(r"=(?P<value>.*)|(?P<type>-|[A-Za-z][\w:<> ]*)(?:\[(?P<dims>[\d, ;]*)\])?")
_DEVICE = re.compile(
    r"device (?P<index>\d+) (?P<name>.+?)(?: (?P<major>\d+)\.(?P<minor>\d+))?"
    r"(?: (?P<gib>\d+)GiB)?"
)
_GAP_NS = 1000
_KINDS = (
    (r"<built-in ", EventKind.PyCCall),
    (r"\[memory\]", EventKind.Allocation),
    (r"nn\.Module: |.+\(\d+\): ", EventKind.PyCall),
    (r"(cuda|cu|hip)[A-Z]", EventKind.Runtime),
    (r"ProfilerStep#|Optimizer\.|enumerate\(", EventKind.Annotation),
    (r".*::|.*Backward\d|Torch-Compiled|## Call Compiled|CompiledF|triton_", EventKind.TorchOp),
    (r"", EventKind.Annotation),
)
_KINDS_ON_DEVICE = (
    (r"Memcpy", EventKind.Memcpy),
    (r"Memset", EventKind.Memset),
    (r"", EventKind.Kernel),
)


@dataclass(slots=True)
class _Node:
    event: re.Match[str]
    inputs: str
    children: list[_Node] = field(default_factory=list)


@lru_cache(maxsize=1000)
def _kind_of(name: str, on_device: bool) -> EventKind:
    kinds = _KINDS_ON_DEVICE if on_device else _KINDS
    return next(kind for pattern, kind in kinds if re.match(pattern, name))


@lru_cache(maxsize=10_000)
def _event_of(text: str) -> re.Match[str] | None:
    return _EVENT.fullmatch(text)


def parse_outline(text: str, path: str = "outline", warnings: Sequence[str] = ()) -> Trace:
    """Return the trace that an outline describes.

    Args:
        path: what the trace says it was read from.
        warnings: what the trace says its reader warned of.

    Raises:
        ValueError: a line is indented by an odd number of spaces, or is no event, or an input
            cannot be read.
    """
    writer = _Writer()
    lines = [line for line in text.split("\n") if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    roots: list[_Node] = []
    stack: list[_Node] = []
    for line in lines:
        body = line[margin:].rstrip()
        if body.startswith("# "):
            writer.read_header(body[2:])
        elif body.startswith("thread ") and body[7:].isdecimal():
            writer.write(roots)
            roots, stack = [], []
            writer.thread, writer.clock_ns = int(body[7:]), 0
        else:
            level, odd = divmod(len(body) - len(body.lstrip()), 2)
            event, _, inputs = body.strip().partition(" | ")
            match = _event_of(event)
            if match is None or odd or level > len(stack):
                raise ValueError(f"no event of an outline: {line!r}")
            del stack[level:]
            stack.append(_Node(match, inputs))
            (stack[level - 1].children if level else roots).append(stack[level])
    writer.write(roots)
    writer.end()
    return build_trace(writer.raw, TraceInfo(path, writer.header, warnings))


class _Writer:
    """Gives events their times and puts them into columns."""

    def __init__(self) -> None:
        self.raw = RawColumns()
        self.header: dict[str, Any] = {"deviceProperties": []}
        self.thread = 1
        self.clock_ns = 0
        self.correlation = 0
        self._columns = defaultdict[str, list[int]](list)
        self._inputs_ids: dict[str, int] = {"": -1}

    def read_header(self, content: str) -> None:
        device = _DEVICE.fullmatch(content)
        if device is None:
            key, _, value = content.partition(" ")
            self.header[key] = json.loads(value) if value else 1
            return
        entry: dict[str, Any] = {"id": int(device["index"]), "name": device["name"]}
        if device["major"]:
            entry |= {"computeMajor": int(device["major"]), "computeMinor": int(device["minor"])}
        if device["gib"]:
            entry["totalGlobalMem"] = int(device["gib"]) << 30
        self.header["deviceProperties"].append(entry)

    def write(self, nodes: Iterable[_Node]) -> None:
        for node in nodes:
            self.clock_ns += _GAP_NS
            start_ns = self.clock_ns
            self.correlation += 1
            correlation = self.correlation
            self.write(child for child in node.children if not child.event["arrow"])
            asked_us = node.event["duration_us"]
            least_ns = int(asked_us) * 1000 if asked_us else _GAP_NS
            self.clock_ns = max(self.clock_ns + _GAP_NS, start_ns + least_ns)
            self._append(node, start_ns, self.clock_ns - start_ns, correlation)
            for launched in (child for child in node.children if child.event["arrow"]):
                duration_us = int(launched.event["duration_us"] or 1)
                self._append(launched, self.clock_ns, duration_us * 1000, correlation)

    def _append(self, node: _Node, start_ns: int, duration_ns: int, correlation: int) -> None:
        event, strings = node.event, self.raw.strings
        on_device = bool(event["arrow"])
        kind = _kind_of(event["name"], on_device)
        of_device = on_device or event["reserved"] is not None
        device = int(event["device"] or 0) if of_device else -1
        if kind == EventKind.Allocation:
            duration_ns = 0
            self.raw.append_memory(
                [len(self._columns["kind"])],
                address=[int(event["address"] or 0)],
                allocated_nbytes=[int(event["allocated"] or 0)],
                reserved_nbytes=[int(event["reserved"] or 0)],
            )
        if node.inputs not in self._inputs_ids:
            self._inputs_ids[node.inputs] = self._inputs(node.inputs)
        row = {
            "name_id": strings.names[event["name"]],
            "kind": kind,
            "start_ns": start_ns,
            "duration_ns": duration_ns,
            "track_id": strings.tracks[Track(device, 7) if on_device else Track(1, self.thread)],
            "correlation": correlation if on_device or kind == EventKind.Runtime else 0,
            "sequence_nr": int(event["sequence_nr"] or -1),
            "forward_thread": int(event["forward_thread"] or 0),
            "inputs_id": self._inputs_ids[node.inputs],
            "stack_id": strings.stacks[event["stack"]] if event["stack"] else -1,
            "device": device,
            "stream": 7 if on_device else -1,
            "nbytes": int(event["nbytes"] or 0),
        }
        for name, value in row.items():
            self._columns[name].append(value)

    def end(self) -> None:
        """Write the rows, all at once."""
        self.raw.append(len(self._columns["kind"]), **self._columns)

    def _inputs(self, text: str) -> int:
        dims: list[list[int] | list[list[int]]] = []
        types: list[str] = []
        concrete: list[str] = []
        for each in re.split(r",\s*(?![^\[]*\])", text):
            match = _INPUT.fullmatch(each.strip())
            if match is None:
                raise ValueError(f"no input of an outline: {each!r}")
            tensors = [
                [int(size) for size in tensor.split(",") if size.strip()]
                for tensor in (match["dims"] or "").split(";")
            ]
            dims.append(tensors if len(tensors) > 1 else tensors[0])
            types.append("Scalar" if match["value"] is not None else match["type"].strip("-"))
            concrete.append(match["value"] or "")
        texts = self.raw.strings.texts
        parts = tuple(texts[json.dumps(part).encode()] for part in (dims, types, concrete, []))
        return self.raw.strings.signatures[parts]
