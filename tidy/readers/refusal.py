"""What a file looks like that is no trace: one phrase for the error message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .salvage import decode_any

_MAGIC = {
    b"SQLite format 3": "an SQLite database (an export of Nsight Systems or nvprof?)",
    b"%PDF": "a PDF document",
    b"\x7fELF": "a program",
    b"MZ": "a Windows program",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"\x93NUMPY": "a numpy array",
    b"\x89HDF": "an HDF5 file",
    b"PAR1": "a Parquet file",
}
_KEYS = (
    ({"nodes", "schema"}, "a PyTorch execution trace (ExecutionTraceObserver)"),
    ({"segments", "device_traces"}, "a memory snapshot of torch.cuda.memory"),
    ({"nodes", "samples", "timeDeltas"}, "a CPU profile of V8"),
    ({"runs", "version"}, "a SARIF report"),
    ({"cells", "nbformat"}, "a Jupyter notebook"),
    ({"schema_version", "findings"}, "a report of tidy itself"),
)
HOW_TO_RECORD = "tidy reads what torch.profiler's export_chrome_trace() writes"


def describe_bytes(head: bytes) -> str | None:
    """What the first bytes show, or None where they may be JSON."""
    text = head.lstrip()
    if not text:
        return "an empty file" if not head else "a file of blanks"
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            return what
    if head[0] == 0x80 and len(head) > 1 and head[1] <= 5:
        return "a Python pickle (a memory snapshot of torch.cuda.memory?)"
    if text[:1] == b"<":
        return "an HTML page" if re.match(rb"(?i)<(!doctype\s+html|html|head|body)", text) else "XML"
    if text[:1] in (b"{", b"["):
        return None
    sample = head[:512]
    odd = sum(byte < 9 or 13 < byte < 32 for byte in sample)
    if odd or sample.count(b"\xff") > 4:
        return "binary data (a .pftrace of Perfetto or an .nsys-rep must be exported as JSON)"
    first = text.splitlines()[0].decode("utf-8", "replace")
    if re.fullmatch(r"[^;{]+(;[^;]+)+ \d+", first):
        return "folded stacks (export_stacks), no trace"
    return f"text that is no JSON (it begins with {first[:24]!r})"


def describe_json(text: bytes) -> str:
    """What a JSON document without a usable list of events is."""
    document = decode_any(text)
    if document is None:
        keys: set[str] = {m.decode("utf-8", "replace") for m in re.findall(rb'"(\w+)"\s*:', text)}
        if b"speedscope.app" in text:
            return "a speedscope profile"
        return _by_keys(keys) or "JSON that is cut off or damaged before any event"
    if isinstance(document, Mapping):
        return _describe_object(document)
    if isinstance(document, list) and len(document) == 2 and all(
        isinstance(each, list) for each in document
    ):
        return "a memory timeline (export_memory_timeline)"
    return "a JSON array without events" if isinstance(document, list) else "JSON without events"


def _describe_object(document: Mapping[str, Any]) -> str:
    if "speedscope" in str(document.get("$schema", "")):
        return "a speedscope profile"
    if "traceEvents" in document:
        return "JSON whose traceEvents is no list of events"
    return _by_keys(set(document)) or "JSON without traceEvents"


def _by_keys(keys: set[str]) -> str | None:
    return next((what for wanted, what in _KEYS if wanted <= keys), None)
