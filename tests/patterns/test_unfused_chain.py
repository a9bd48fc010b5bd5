"""Chains of elementwise operators: what they move, in one place of the source."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tidy
from tidy.finding import Judged
from tidy.patterns.examples import FRAME, on_gpu, steps, under
from tidy.trace.outline import parse_outline

from ..oracle.shared import FOLDER, TRACES, load

_T = "float[4096, 4096]"
_SAID = re.compile(r"(?P<ops>\d+) operators .*: (?P<now>\S+) GB where (?P<needed>\S+) would do")
_PAIRS = sorted((FOLDER.parent / "pairs").glob("*/*.json*"))


def _op(call: str, kernels: int, takes_us: int = 90) -> str:
    return under(f"aten::{call}", f"cudaLaunchKernel\n  => kernel {takes_us}us\n" * kernels)


@pytest.mark.parametrize("kernels", [1, 4])
def test_an_operator_counts_once_however_many_kernels_it_has(kernels: int) -> None:
    """Three reads of 67 MB, and one more of the sum, and as many writes: 7 times 67 MB."""
    ops = tuple(
        _op(f"{call}", kernels) for call in (f"exp | {_T}", f"tanh | {_T}", f"add | {_T}, {_T}")
    )
    (finding,) = tidy.check(parse_outline(on_gpu(*ops, frame=FRAME)), select=["TDY403"]).findings
    said = _SAID.fullmatch(finding.message)
    assert said is not None
    assert (said["ops"], float(said["now"])) == ("3", pytest.approx(0.47, abs=0.01))
    assert finding.count == 1
    assert finding.edit is not None
    assert len(finding.edit.work) == 3 * kernels


@pytest.mark.parametrize(("ops", "least_us", "most_us"), [(3, 0, 40), (11, 90, 200)])
def test_one_kernel_takes_one_launch(ops: int, least_us: int, most_us: int) -> None:
    """The host that launches short kernels sets the pace; a compiled call takes it some time."""
    names = ("exp", "tanh", "sin", "cos", "erf", "log", "sqrt", "neg", "abs", "sigmoid", "rsqrt")
    chain = (_op(f"{name} 20us | float[256, 256]", 1, takes_us=2) for name in names[:ops])
    trace = parse_outline(on_gpu(steps(*chain, lasts_us=None), frame=FRAME))
    (finding,) = tidy.check(trace, select=["TDY403"]).findings
    assert isinstance(finding, Judged)
    assert finding.saving is not None
    assert finding.saving.low_ns == pytest.approx(least_us * 1000, rel=0.1)
    assert finding.saving.high_ns == pytest.approx(most_us * 1000, rel=0.1)


def _line(number: int, *calls: str) -> str:
    """Operators that a line of a function calls, each with its kernel."""
    return under(f"model.py({number}): forward", *(_op(call, 1) for call in calls))


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (((27, "mul"), (31, "mul", "tanh", "exp", "neg"), (32, "add")), 31),
        (((27, "exp", "neg"), (31, "mul", "mul", "mul"), (32, "exp", "neg")), 31),
        (((27, "mul", "mul"), (31, "exp", "neg", "exp")), 31),
        (((27, "exp", "neg"), (31, "neg", "exp")), 27),
        (((27, "exp", "neg"), (31, "neg"), (27, "exp")), 27),
    ],
    ids=["most bytes", "larger", "as many bytes of more operators", "equal", "in two parts"],
)
def test_a_chain_is_placed_where_most_of_it_is(
    lines: tuple[tuple[int | str, ...], ...], line: int
) -> None:
    """A product reads two tensors and writes one; other operators read one and write one."""
    inputs = {"mul": f"{_T}, {_T}", "add": f"{_T}, {_T}"}
    parts = (
        _line(int(number), *(f"{op} | {inputs.get(str(op), _T)}" for op in ops))
        for number, *ops in lines
    )
    (finding,) = tidy.check(parse_outline(on_gpu(steps(*parts))), select=["TDY403"]).findings
    assert str(finding.location) == f"model.py:{line}"
    assert {str(each.location) for each in finding.events} == {f"model.py:{line}"}
    assert finding.count == 3


def test_chains_of_one_function_after_different_lines_are_one_finding() -> None:
    """Where an addition goes before is another line each time, and not most of the chain."""
    norm = _line(31, *(f"{name} | {_T}" for name in ("exp", "tanh", "neg", "sin")))
    product = under("model.py(8): call", _op("mm | float[64, 64], float[64, 64]", 1))
    added = [_line(number, f"add | {_T}, {_T}") for number in (48, 50)]
    trace = parse_outline(on_gpu(steps(added[0], norm, product, added[1], norm, product)))
    (finding,) = tidy.check(trace, select=["TDY403"]).findings
    assert str(finding.location) == "model.py:31"
    assert finding.count == 6
    assert finding.edit is not None
    assert len(finding.edit.work) == 30


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
