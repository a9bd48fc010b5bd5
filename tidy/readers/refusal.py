"""The looks of a file that is not a trace: one phrase for the error message."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from .header import top_level

HOW_TO_RECORD = "tidy reads what torch.profiler's export_chrome_trace() writes"

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
_SNAPSHOT = "a memory snapshot of torch.cuda.memory (for memory record with profile_memory=True)"
# The first of protocol buffers, by a text in it.
_MESSAGES = (
    (rb"/(host|device):\w", "a profile of JAX or TensorFlow (xplane.pb)"),
    (rb"^[\x07-\x7f]\n[\x05-\x7f]\d+\.\d+\.\d+", "a Chakra execution trace"),
)
# Keys that tell, on whatever level they stand.
_KEYS = (
    ({"nodes", "schema"}, "a PyTorch execution trace (ExecutionTraceObserver)"),
    ({"segments", "device_traces"}, _SNAPSHOT),
    ({"segment_type", "allocated_size"}, _SNAPSHOT),
    ({"nodes", "samples", "timeDeltas"}, "a CPU profile of V8"),
    ({"profiles", "shared", "frames"}, "a speedscope profile"),
    ({"pg_config", "entries"}, "a dump of NCCL's flight recorder"),
    ({"runs", "version"}, "a SARIF report"),
    ({"cells", "nbformat"}, "a Jupyter notebook"),
    ({"schema_version", "findings"}, "a report of tidy itself"),
    ({"rocprofiler-sdk-tool"}, "the JSON of rocprofv3"),
)
# Keys and categories of the Trace Event Format by which other tools are known.
_FOREIGN_KEYS = {"viztracer_metadata": "VizTracer", "samples": "a sampling profiler"}
_FOREIGN_CATEGORIES = {
    "FEE": "VizTracer", "toplevel": "Chrome", "devtools.timeline": "Chrome",
    "Node": "ONNX Runtime", "Session": "ONNX Runtime",
}  # fmt: skip
# What the first events of others hold: the names of processes, or of arguments.
_FOREIGN_WORDS = {
    b'"/host:': "JAX or TensorFlow", b'"/device:': "JAX or TensorFlow", b'"BeginNs"': "rocprof",
}  # fmt: skip
# Ascend's profiler writes the operators as PyTorch's does, and leads from them to its devices.
OF_ASCEND = {"async_npu", "async_task_queue", "HostToDevice"}
ASCEND = "a trace of Ascend's profiler, whose device activity has another form"
_EVENTLESS_ARRAY = "a JSON array without events"
_DAMAGED = "JSON that is cut off or damaged before any event"
_LOOKED_AT_NBYTES = 1 << 20


def describe(head: bytes) -> str:
    """Say what a file without a list of events is, told by its first bytes."""
    if head.lstrip()[:1] in (b"{", b"["):
        return describe_json(head)
    return _describe_magic(head) or _describe_text(head)


def _describe_magic(head: bytes) -> str | None:
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            return what
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        return "a Python pickle (a memory snapshot of torch.cuda.memory?)"
    sample = head[:512]
    if sample and not sample.strip(b"\0"):
        return "a file of zero bytes (left by a crash?)"
    if any(byte < 9 or 13 < byte < 32 for byte in sample) or sample.count(b"\xff") > 4:
        unknown = "binary data (a .pftrace of Perfetto or an .nsys-rep must be exported as JSON)"
        return next((what for form, what in _MESSAGES if re.search(form, head)), unknown)
    return None


def _describe_text(head: bytes) -> str:
    text = head[:_LOOKED_AT_NBYTES].lstrip()
    if not text:
        return "a file of blanks" if head else "an empty file"
    if text[:1] == b"<":
        is_html = re.match(rb"(?i)<(!doctype\s+html|html|head|body)", text)
        if b"nvvp" in text.lower():
            return "a session of NVIDIA's Visual Profiler; give the file that nvprof -o wrote"
        return "an HTML page" if is_html else "XML"
    first = text.splitlines()[0].decode("utf-8", "replace")
    if re.fullmatch(r"[^;{]+(?:;[^;]+)+ \d+", first):
        return "folded stacks (export_stacks), no trace"
    return f"text that is no JSON (it begins with {first[:24]!r})"


def describe_foreign(header: Mapping[str, object], categories: Counter[str], start: bytes) -> str:
    """Say what a trace is that has events, and none of them PyTorch's.

    Args:
        start: of the text of its events.
    """
    names = [tool for word, tool in _FOREIGN_WORDS.items() if word in start]
    names += [tool for key, tool in _FOREIGN_KEYS.items() if key in header]
    names += [tool for key, tool in _FOREIGN_CATEGORIES.items() if key in categories]
    if names:
        return f"a trace of {names[0]}, without ops of PyTorch"
    shown = ", ".join(repr(each[:24]) for each, _ in categories.most_common(3) if each)
    what = f"of category {shown}" if shown else "without categories"
    return f"a trace of another tool: its events are {what}, and none is an op of PyTorch"


def describe_json(text: bytes) -> str:
    """Say what a JSON document without a usable list of events is."""
    start = text[:_LOOKED_AT_NBYTES].lstrip()
    if b"speedscope.app" in start or b"speedscope.app" in text[-_LOOKED_AT_NBYTES:]:
        return "a speedscope profile"
    if b'"COMP_NODE"' in start:
        return "a Chakra execution trace"
    if start[:1] == b"[":
        is_timeline = re.match(rb"\[\s*\[\s*-?\d", start)
        return "a memory timeline (export_memory_timeline)" if is_timeline else _EVENTLESS_ARRAY
    values = top_level(text)
    if values is not None and "traceEvents" in values:
        return "JSON whose traceEvents is no list of events"
    keys = {key.decode("utf-8", "replace") for key in re.findall(rb'"([\w-]+)"\s*:', start)}
    known = next((what for wanted, what in _KEYS if wanted <= keys | set(values or ())), None)
    if known is not None or values is not None:
        return known or "JSON without traceEvents"
    is_lines = top_level(start.partition(b"\n")[0]) is not None
    return "JSON lines, one document in each" if is_lines else _DAMAGED
