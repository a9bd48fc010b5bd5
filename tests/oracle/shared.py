"""The recorded traces that lie beside the checkout, and what is known of them (INDEX.md there)."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy import Finding, Report, Trace

FOLDER = Path(__file__).parents[3] / "shared" / "traces"
INDEX = FOLDER / "INDEX.md"
TORCH_CPU = FOLDER / "torch_cpu"
REAL = FOLDER / "real"
# A trace with its events; beside it lie files that describe it.
SUFFIX = ".pt.trace.json.gz"
_DESCRIPTIONS = (".meta.json", ".torchtidy.json", ".tree.json.gz")


def _is_description(path: Path) -> bool:
    return path.name.endswith(_DESCRIPTIONS)


TRACES = [
    path
    for path in sorted([*REAL.glob("*.json*"), *TORCH_CPU.glob("*.json.gz")])
    if not _is_description(path)
]
DESCRIPTIONS = [path for path in sorted(TORCH_CPU.glob("*.json*")) if _is_description(path)]


needs_traces = pytest.mark.skipif(not TRACES, reason="no recorded traces beside the checkout")


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
