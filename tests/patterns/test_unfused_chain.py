"""Chains of elementwise operators: what they move, in one place of the source."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tidy
from tidy.patterns.examples import FRAME, on_gpu, under
from tidy.trace.outline import parse_outline

from ..oracle.shared import FOLDER, TRACES, load

_T = "float[4096, 4096]"
_SAID = re.compile(r"(?P<ops>\d+) operators .*: (?P<now>\S+) GB where (?P<needed>\S+) would do")
_PAIRS = sorted((FOLDER.parent / "pairs").glob("*/*.json*"))


def _op(name: str, inputs: str, kernels: int) -> str:
    return under(f"aten::{name} | {inputs}", "cudaLaunchKernel\n  => kernel 90us\n" * kernels)


@pytest.mark.parametrize("kernels", [1, 4])
def test_an_operator_counts_once_however_many_kernels_it_has(kernels: int) -> None:
    """Three reads of 67 MB, and one more of the sum, and as many writes: 7 times 67 MB."""
    ops = (_op("exp", _T, kernels), _op("tanh", _T, kernels), _op("add", f"{_T}, {_T}", kernels))
    (finding,) = tidy.check(parse_outline(on_gpu(*ops, frame=FRAME)), select=["TDY403"]).findings
    said = _SAID.fullmatch(finding.message)
    assert said is not None
    assert (said["ops"], float(said["now"])) == ("3", pytest.approx(0.47, abs=0.01))
    assert finding.count == 1
    assert finding.edit is not None
    assert len(finding.edit.work) == 3 * kernels


@pytest.mark.parametrize("path", [*TRACES, *_PAIRS], ids=lambda path: path.name)
def test_no_chain_moves_more_than_the_device_can(path: Path) -> None:
    trace = load(path)
    report = tidy.check(trace, select=["TDY403"], savings="off")
    rates = [each.efficiency.rates for each in report.accounts if each.efficiency]
    peaks = [each.nbytes_per_s for each in rates if each is not None]
    for finding in report.findings if peaks else ():
        assert finding.edit is not None
        took_ns = int(trace.duration_ns[np.asarray(finding.edit.work)].sum())
        nbytes = float(re.findall(r"(\S+) GB where", finding.message)[0]) * 1e9
        assert nbytes / (took_ns / 1e9) <= 1.05 * max(peaks), finding.message
