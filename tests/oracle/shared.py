"""The recorded traces, and what is known of them.

Those in tests/data/traces are recorded by tests/data/record_traces.py. Where there is a folder with
more beside the checkout (INDEX.md tells of each), these are read too; a test that needs one of them
by its name is marked with `needs_traces`.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy import Finding, Report, Trace

OWN = Path(__file__).parents[1] / "data" / "traces"
FOLDER = Path(__file__).parents[3] / "shared" / "traces"
INDEX = FOLDER / "INDEX.md"
TORCH_CPU = FOLDER / "torch_cpu"
REAL = FOLDER / "real"
# A trace with its events; beside it lie files that describe it.
SUFFIX = ".pt.trace.json.gz"
TREE, VERDICTS, DEVICE = ".tree.json.gz", ".torchtidy.json", ".device.json.gz"
_DESCRIPTIONS = (".meta.json", TREE, VERDICTS, DEVICE)


def described_by(suffix: str) -> list[Path]:
    """The files with this suffix, of our own traces and of those beside the checkout."""
    return [path for folder in (OWN, TORCH_CPU) for path in sorted(folder.glob(f"*{suffix}"))]


def name_of(path: Path, suffix: str = SUFFIX) -> str:
    """What a trace and all that describes it are called."""
    return path.name.removesuffix(suffix)


def _is_description(path: Path) -> bool:
    return path.name.endswith(_DESCRIPTIONS)


TRACES = [
    path
    for path in sorted(
        [*OWN.glob("*.json.gz"), *REAL.glob("*.json*"), *TORCH_CPU.glob("*.json.gz")]
    )
    if not _is_description(path)
]
DESCRIPTIONS = [path for suffix in _DESCRIPTIONS for path in described_by(suffix)]


NO_TRACES = "no recorded traces beside the checkout"
needs_traces = pytest.mark.skipif(not FOLDER.is_dir(), reason=NO_TRACES)


def path_of(start: str) -> Path:
    """The one trace whose file name begins so, up to a dot or an underscore."""
    (found,) = [path for path in TRACES if path.name.startswith((start + ".", start + "__"))]
    return found


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


def text_of(path: Path) -> str:
    """The file as text, unpacked."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")


def decoded(path: Path) -> Any:
    """A JSON file, by the standard library."""
    return json.loads(text_of(path))
