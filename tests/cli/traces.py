"""Small traces as `export_chrome_trace` writes them, of which every number is known."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Event = dict[str, Any]


def event(category: str, name: str, start_us: float, lasts_us: float, **args: Any) -> Event:
    """One complete event of thread 1."""
    return {
        "ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1,
        "ts": start_us, "dur": lasts_us, "args": args,
    }  # fmt: skip


def loop(frame: str = "train.py(3): fill", rounds: int = 12) -> list[Event]:
    """What TDY404 finds: `rounds` of select and fill_, 2 ops of 1 us each, in a frame of 100 us."""
    ops = [
        event("cpu_op", name, 1 + 2 * i, 1)
        for i, name in enumerate(["aten::select", "aten::fill_"] * rounds)
    ]
    return [event("python_function", frame, 0, 100), *ops]


def clean() -> list[Event]:
    """What no rule minds: one addition of 4 us."""
    return [
        event("python_function", "train.py(3): fill", 0, 10),
        event("cpu_op", "aten::add", 2, 4),
    ]


def text(events: Sequence[Event], **header: Any) -> bytes:
    """The file's content."""
    return json.dumps({**header, "traceEvents": list(events)}, ensure_ascii=False).encode()


def write(path: Path, events: Sequence[Event], **header: Any) -> Path:
    """Write a trace, in gzip where the name says so."""
    content = text(events, **header)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def rank(number: int, world_size: int = 2) -> dict[str, Any]:
    """The header of one rank of a job."""
    return {"distributedInfo": {"backend": "gloo", "rank": number, "world_size": world_size}}
