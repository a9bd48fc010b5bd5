"""The recorded traces, and what is known of them.

Those in tests/data/traces are recorded by tests/data/record_traces.py, those in tests/data/packed
are others' and of a CPU. Where there is a folder with more beside the checkout, these are read too,
whatever they are, but for those that the checkout has: what a test says of all traces it works out
from the file itself, and what is known of one is said under its name. Names are those of
published.txt, so a file that is added never stands for one that is known. A test that asks
`path_of` for a trace which is beside other checkouts only is not run.
"""

from __future__ import annotations

import json
import re
import zlib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy import Finding, Report, Trace

_DATA = Path(__file__).parents[1] / "data"
OWN, PACKED = _DATA / "traces", _DATA / "packed"
FOLDER = Path(__file__).parents[3] / "shared" / "traces"
# Both have `real` and `torch_cpu`; of two files of one name the later folder's is read.
_PLACES = (FOLDER, PACKED)
# A trace with its events; beside it lie files that describe it.
SUFFIX = ".pt.trace.json.gz"
TREE, VERDICTS, DEVICE = ".tree.json.gz", ".torchtidy.json", ".device.json.gz"
_DESCRIPTIONS = (".meta.json", TREE, VERDICTS, DEVICE)


def _files(kind: str, pattern: str) -> list[Path]:
    """The files of a folder `real` or `torch_cpu` by name, each once: ours, or one beside us."""
    found = {path.name: path for place in _PLACES for path in (place / kind).glob(pattern)}
    return [found[name] for name in sorted(found)]


def described_by(suffix: str) -> list[Path]:
    """The files with this suffix, of our own traces and of those recorded on a CPU."""
    return [*sorted(OWN.glob(f"*{suffix}")), *_files("torch_cpu", f"*{suffix}")]


def name_of(path: Path, suffix: str = SUFFIX) -> str:
    """What a trace and all that describes it are called."""
    return path.name.removesuffix(suffix)


def _is_description(path: Path) -> bool:
    return path.name.endswith(_DESCRIPTIONS)


# What the profiler calls its events, by their category, in all its eras.
_RECORDED = re.compile(
    rb'"cat"\s*:\s*"(?:cpu_op|operator|user_annotation|python_function|(?:concurrent_)?kernel|runtime'
    rb"|(?:cuda|hip|xpu|mtia|privateuse1)_(?:runtime|driver)|mtia_ccp_events|gpu_mem(?:cpy|set)"
    rb'|cpu_instant_event)"',
    re.IGNORECASE,
)


def _bytes_of(path: Path, most_nbytes: int = 0) -> bytes:
    """The file, unpacked as far as it can be: it may be cut off, or not what its name says.

    Args:
        most_nbytes: of its text; 0 for all.
    """
    data = path.read_bytes()
    if data[:2] != b"\x1f\x8b":
        return data[: most_nbytes or None]
    try:
        return zlib.decompressobj(wbits=31).decompress(data, most_nbytes)
    except zlib.error:
        return b""


_START_NBYTES = 100_000  # has an event in nearly all of them


def _is_trace(path: Path) -> bool:
    texts = (_bytes_of(path, most_nbytes) for most_nbytes in (_START_NBYTES, 0))
    return any(_RECORDED.search(text) for text in texts)


FILES = [
    path
    for path in [
        *sorted(OWN.glob("*.json.gz")),
        *_files("real", "*.json*"),
        *_files("torch_cpu", "*.json.gz"),
    ]
    if not _is_description(path)
]
TRACES = [path for path in FILES if _is_trace(path)]
OTHERS = [path for path in FILES if path not in TRACES]
DESCRIPTIONS = [path for suffix in _DESCRIPTIONS for path in described_by(suffix)]
ON_A_CPU = [path for path in TRACES if path.parent.name == "torch_cpu"]
_BY_NAME = {name_of(path): path for path in FILES}

NO_TRACES = "without traces beside the checkout (../shared/traces)"
needs_traces = pytest.mark.skipif(not FOLDER.is_dir(), reason=NO_TRACES)


# What lay in `real/` when the tests that name one of these were written.
PUBLISHED = Path(__file__).with_name("published.txt").read_text("utf-8").splitlines()


def published() -> list[Path]:
    """The known traces of others that are here, without what is none."""
    return [path for path in TRACES if path.parent.name == "real" and path.name in PUBLISHED]


def trace_of(description: Path, suffix: str) -> Path:
    """The trace that a file beside it, or beside one of the same name, describes."""
    return _BY_NAME[name_of(description, suffix)]


def path_of(start: str) -> Path:
    """The one known trace whose file name begins so, up to a dot or an underscore.

    The test that asks is not run where that trace can only be beside the checkout, and nothing is.
    """
    begins = (start + ".", start + "__")
    known = [name_of(Path(name)) for name in PUBLISHED if name.startswith(begins)]
    (name,) = known or [start]
    if name not in _BY_NAME and not FOLDER.is_dir():
        pytest.skip(NO_TRACES)
    return _BY_NAME[name]


@cache
def load(path: Path) -> Trace:
    return tidy.load(path)


@cache
def report(path: Path) -> Report:
    """What all rules say of a trace."""
    return tidy.check(load(path))


def findings(path: Path, code: str) -> list[Finding]:
    assert report(path).crashed == {}
    return [finding for finding in report(path).findings if finding.code == code]


@lru_cache(maxsize=1)
def text_of(path: Path) -> str:
    """The file as text, unpacked."""
    return _bytes_of(path).decode("utf-8", "replace")


def decoded(path: Path) -> Any:
    """A JSON file, by the standard library."""
    return json.loads(text_of(path))


@lru_cache(maxsize=1)
def raw_events(path: Path) -> list[dict[str, Any]]:
    """What stands in `traceEvents`; a test of a damaged file has no second way, and is skipped."""
    try:
        written = json.loads(text_of(path), strict=False)
    except ValueError:
        pytest.skip("of a trace whose JSON is damaged")
    events = written["traceEvents"] if isinstance(written, dict) else written
    return [event for event in events if isinstance(event, dict)]
