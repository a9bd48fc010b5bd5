"""Pack recorded traces for tests/data/packed: the same trace in a file of about two thirds.

    python -m tests.data.pack_traces FOLDER

at the top of a checkout. FOLDER has the files that tests/data/packed/README.md lists, in folders of
the same names. Blanks are left out, and what neither tidy nor a test reads. Each file is read back
and compared with the one that it was made of, event by event.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import tidy
from tidy import Trace
from tidy.errors import TraceFormatError

PACKED = Path(__file__).parent / "packed"
_LISTED = re.compile(r"^\| `([^`]+\.json(?:\.gz)?)` \|", re.MULTILINE)
_COLUMNS = (
    "kind", "start_ns", "duration_ns", "correlation", "sequence_nr", "forward_thread", "device",
    "stream", "nbytes",
)  # fmt: skip
_MEMORY = ("row", "address", "allocated_nbytes", "reserved_nbytes")
# Arguments of events: how kernels were launched, and numbers of Kineto's and of the profiler's own.
_LEFT_OUT = frozenset(
    {
        "blocks per SM", "block", "cbid", "cid", "context", "est. achieved occupancy %", "grid",
        "memory bandwidth (GB/s)", "queued", "registers per thread", "shared memory",
        "warps per SM", "Device", "Python id", "Python module id", "Python parent id",
        "Record function id", "Trace iteration", "Trace name", "external ts",
    }
)  # fmt: skip
# Arrows from launches to kernels, which say what the correlation of both says.
_ARROWS = frozenset({"ac2g", "async", "async_gpu", "async_cpu_to_gpu"})


def listed() -> list[str]:
    """The traces in the tables of packed/README.md, as paths below its folder."""
    return _LISTED.findall((PACKED / "README.md").read_text("utf-8"))


def is_same(one: Trace, other: Trace) -> bool:
    """Whether two traces have the same events, links, memory and header.

    Rows may stand in another order: which track comes first depends on how long the text is.
    """
    said = [
        (trace.info.warnings, trace.capabilities, _without_names(trace.info.header))
        for trace in (one, other)
    ]
    return said[0] == said[1] and _rows(one) == _rows(other)


def _rows(trace: Trace) -> Counter[tuple[Any, ...]]:
    """All that the trace has of each row; other rows and strings not by number but in full."""
    numbers = zip(*(getattr(trace, name).tolist() for name in _COLUMNS), strict=True)
    names = [trace.names[number] for number in trace.name_id]
    tracks = [trace.tracks[number] for number in trace.track_id]
    own = list(zip(names, tracks, numbers, strict=True))
    texts = [_value(text) for text in trace.strings.texts]
    inputs = [repr([texts[part] for part in parts]) for parts in trace.strings.signatures]
    stacks = list(trace.strings.stacks)
    memory: dict[int, list[int]] = {}
    for row, *rest in zip(*(getattr(trace.memory, each) for each in _MEMORY), strict=True):
        memory[int(row)] = [int(number) for number in rest]
    above, called = trace.parent.tolist(), trace.caller.tolist()
    of_inputs, of_stack = trace.inputs_id.tolist(), trace.stack_id.tolist()
    return Counter(
        (
            own[row],
            *(own[at] if at >= 0 else None for at in (above[row], called[row])),
            own[trace.forward[row]] if row in trace.forward else None,
            inputs[of_inputs[row]] if of_inputs[row] >= 0 else "",
            stacks[of_stack[row]] if of_stack[row] >= 0 else "",
            *memory.get(row, ()),
        )
        for row in range(len(trace))
    )


def _value(text: bytes) -> Any:
    """What a JSON text says, whatever blanks are in it."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _without_names(header: dict[str, Any]) -> dict[str, Any]:
    """A header without what machines, users and their jobs are called."""
    names = re.compile("host_name|traceName|username|tw_.*")
    return {key: value for key, value in header.items() if not names.fullmatch(key)}


def _smaller(document: Any, with_arrows: bool) -> Any:
    """The document without what nobody reads, and without names of machines."""
    events = []
    for event in document["traceEvents"] if isinstance(document, dict) else document:
        if event.get("ph") in ("s", "f") and event.get("cat") in _ARROWS and not with_arrows:
            continue
        args = event.get("args")
        if isinstance(args, dict):
            args = {key: value for key, value in args.items() if key not in _LEFT_OUT}
        events.append({**event, "args": args} if args else event)
    if not isinstance(document, dict):
        return events
    return {**_without_names(document), "traceEvents": events}


def _write(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text, 9, mtime=0) if path.suffix == ".gz" else text)


def _neutral(text: bytes) -> bytes:
    """The text without names of machines, for files that are no valid JSON."""
    return re.sub(rb'("(?:host_name|traceName)": ?)"[^"]*"', rb'\1""', text)


def _pack(source: Path, target: Path) -> None:
    raw = source.read_bytes()
    text = gzip.decompress(raw) if source.suffix == ".gz" else raw
    try:
        document, original = json.loads(text), tidy.load(source)
    except (ValueError, TraceFormatError):  # it is there because it is damaged, or no trace
        _write(target, _neutral(text))
        return
    for with_arrows in (False, True):
        packed = _smaller(document, with_arrows)
        shortest = json.dumps(packed, separators=(",", ":"), ensure_ascii=False)
        _write(target, shortest.encode("utf-8"))
        if is_same(original, tidy.load(target)):
            return
    target.unlink()
    raise ValueError(f"{source} would be another trace")


def main() -> int:
    folder = Path(sys.argv[1])
    for name in listed():
        _pack(folder / name, PACKED / name)
        verdicts = name.replace(".pt.trace.json.gz", ".torchtidy.json")
        if name.startswith("torch_cpu/") and (folder / verdicts).is_file():
            (PACKED / verdicts).write_bytes((folder / verdicts).read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
