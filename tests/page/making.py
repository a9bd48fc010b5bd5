"""Pages of recorded traces, and what their data say when Python unpacks them."""

from __future__ import annotations

import atexit
import base64
import gzip
import json
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cli.command import Result, tidy
from ..environment import ROOT

_REAL = "tests/data/packed/real"
# A CPU, two kinds of GPU, a modelled one, two ranks of a job, a run without steps.
TRACES = {
    "cpu": ["examples/traces/train_cnn.json.gz"],
    "v100": [
        f"{_REAL}/kineto__resnet50_num_workers_0__worker0.1623143566756.pt.trace.383a066.json.gz"
    ],
    "h100": [f"{_REAL}/tracelens__h100__gaunernst_bert-small-uncased__1016001.json.gz"],
    "modelled": ["tests/data/traces/device_training.pt.trace.json.gz"],
    "ranks": [f"{_REAL}/hta__trace_filter__sampled_rank-{rank}.json.gz" for rank in (0, 1)],
    "run": [
        f"{_REAL}/hta__critical_path__alexnet__benchmark_result_2869224_1695835535_trace.json.gz"
    ],
}


@cache
def _made() -> list[str]:
    """Four ranks of a job, of which one has a slow GPU."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    maker = [sys.executable, ROOT / "benchmarks" / "make_job.py", folder, "--ranks", "4"]
    plant = ["--plant", "slow-gpu", "--rank", "2", "--steps", "4"]
    subprocess.run([*maker, *plant], check=True, stdout=subprocess.DEVNULL)
    return sorted(map(str, folder.glob("*.json.gz")))


def _report(name: str, form: str) -> Result:
    traces = _made() if name == "four" else TRACES[name]
    return tidy("report", *traces, "--format", form, cwd=ROOT)


@cache
def page_of(name: str) -> str:
    """The page that the command writes."""
    done = _report(name, "html")
    assert done.err == ""
    return done.out


@cache
def diff_page(*more: str) -> str:
    """The page of two runs: a training before and after its mistakes were mended."""
    names = ("train_cnn", "train_cnn_fixed")
    sides = [f"examples/traces/{name}.json.gz" for name in names]
    return tidy("diff", *sides, *more, "--format", "html", cwd=ROOT).out


@cache
def diff_of() -> Any:
    """The same as JSON."""
    names = ("train_cnn", "train_cnn_fixed")
    sides = [f"examples/traces/{name}.json.gz" for name in names]
    return tidy("diff", *sides, "--format", "json", cwd=ROOT).json()


@cache
def report_of(name: str) -> Any:
    """What the command writes as JSON."""
    return _report(name, "json").json()


def content_of(page: str) -> Any:
    """The data of a page."""
    (data,) = re.findall(r'<script type="application/json" id="data">(.*)</script>', page)
    return json.loads(data)


def steps_of(rank: Any) -> list[tuple[int, str]]:
    """How long each step of a rank is, in ns, and why it does not count, or ""."""
    lengths, left_out = rank["steps"]["duration_ns"], rank["steps"]["left_out"]
    return [(ns, left_out.get(str(at), "")) for at, ns in enumerate(lengths)]


def unpacked(packed: Any) -> dict[str, NDArray[np.int64]]:
    """Unpack columns as web/columns.js does."""
    data = gzip.decompress(base64.b64decode(packed["data"]))
    count, at, columns = packed["count"], 0, {}
    for column in packed["columns"]:
        size = count * column["width"]
        planes = np.frombuffer(data[at : at + size], np.uint8).reshape(column["width"], count)
        values = sum(plane.astype(np.int64) << 8 * n for n, plane in enumerate(planes))
        signed = (values >> 1) ^ -(values & 1)
        columns[column["name"]] = np.cumsum(signed) if column["delta"] else signed
        at += size
    assert at == len(data)
    return columns


def written(name: str, folder: Path) -> Path:
    """The page in a file."""
    file = folder / f"{name}.html"
    file.write_text(page_of(name), "utf-8")
    return file
