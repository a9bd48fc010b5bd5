"""TDY417 on a real recording, on lengths of all kinds, and on what a damaged file may hold."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

import tidy
from tidy import Finding, Severity
from tidy.finding import Checked
from tidy.patterns.examples import launch, looped, under
from tidy.trace import Trace
from tidy.trace.outline import parse_outline

_RECORDED = Path(__file__).parents[1] / "data" / "h200" / "prime_length_fft.json.gz"
_KERNEL = "void multi_bluestein_fft<128u> 300us"
# Device time of the same operators with 16,384 in place of 16,381, in microseconds: medians of 52.
_PADDED_US = {
    "aten::_fft_r2c [256, 16381]": 14.8,
    "aten::_fft_r2c [8, 256, 16381]": 92.9,
    "aten::_fft_c2r [8, 256, 8191]": 79.2,
    "aten::_fft_c2c [8, 256, 16381]": 197.8,
    "aten::_fft_c2c [256, 16381]": 29.0,
}


def _found(trace: Trace) -> tuple[Finding, ...]:
    outcome = tidy.check(trace, select=["TDY417"]).outcomes["TDY417"]
    assert isinstance(outcome, Checked)
    return outcome.findings


def _one(*parts: str) -> Finding:
    (found,) = _found(parse_outline(looped(*parts)))
    return found


def _r2c(dims: str, along: str) -> str:
    return launch(f"aten::_fft_r2c | float[{dims}], ={along}, =0, =True", _KERNEL)


def test_lines_lengths_and_calls_of_a_recorded_step() -> None:
    found = _found(tidy.load(_RECORDED))
    assert {each.location.line for each in found if each.location} == {25, 26, 27}
    assert all(len(each.events) == 8 for each in found), "four forward and four backward"
    assert all("length 16,381 (a prime number)" in each.message for each in found)
    calls = {each.location.line: each.fix.rpartition(": ")[2] for each in found if each.location}
    rfft, irfft = "torch.fft.rfft(x, n=16384)", "torch.fft.irfft(x, n=16384)"
    assert calls == {25: rfft, 26: rfft, 27: irfft}


def test_what_stays_was_measured() -> None:
    """Each operator became as much shorter as the edit says."""
    trace = tidy.load(_RECORDED)
    (finding, *_) = found = _found(trace)
    assert finding.correction.edit is not None
    low, high = finding.correction.edit.left
    edited = {int(row) for each in found if (edit := each.correction.edit) for row in edit.work}
    for op in (op for each in found for op in each.events):
        spent = [work.duration_ns for work in op.kernels if work.row in edited]
        after_us = _PADDED_US[f"{op.name} {list(op.input_shapes[0])}"]
        assert low < after_us * 1000 / sum(spent) < high, op
        others = [work.name for work in op.kernels if work.row not in edited]
        assert all("Memcpy DtoD" in name or "elementwise" in name for name in others)


@pytest.mark.parametrize(
    ("dims", "along", "said"),
    [
        ("64, 1021", "[1]", "length 1,021 (a prime number),"),
        ("64, 1021", "[-1]", "length 1,021 (a prime number),"),
        ("64, 2042", "[1]", "length 2,042 (2 x 1,021),"),
        ("509, 64", "[0]", "length 509 (a prime number),"),
        ("509, 64", "[1, 0]", "length 509 (a prime number),"),
        ("509, 13", "[0, 1]", "length 509 (a prime number),"),
        ("509, 131", "[0, 1]", "length 509 (a prime number) and of 1 other length,"),
        ("64, 22", "[1]", "length 22 (2 x 11),"),
    ],
)
def test_the_length_and_its_factors(dims: str, along: str, said: str) -> None:
    assert said in _one(_r2c(dims, along)).message


@pytest.mark.parametrize("length", [11, 131, 509, 1009, 1021, 2042, 16381, 16383, 65537, 999983])
def test_the_next_quick_length(length: int) -> None:
    """As trying each number finds it."""

    def is_quick(number: int) -> bool:
        for prime in (2, 3, 5, 7):
            while number % prime == 0:
                number //= prime
        return number == 1

    quick = next(each for each in range(length + length % 2, 2 * length + 2, 2) if is_quick(each))
    assert f"pad to {quick:,}" in _one(_r2c(f"4, {length}", "[1]")).fix


@pytest.mark.parametrize(
    ("padded", "severity"),
    [
        ("aten::constant_pad_nd | float[64, 511], =[0, 510], =0", Severity.WARNING),
        ("aten::constant_pad_nd | float[9, 1000], =[20, 1, 0, 0], =0", Severity.WARNING),
        ("aten::constant_pad_nd | float[900, 64], =[0, 0, 100, 21], =0", Severity.WARNING),
        ("aten::constant_pad_nd | float[64, 511], =[0, 511], =0", Severity.INFO),
        ("aten::constant_pad_nd | float[64, 1021], =[0, 0], =0", Severity.INFO),
        ("aten::constant_pad_nd | float[64, 511], =[0, x], =0", Severity.INFO),
        ("aten::constant_pad_nd | float[64, 511]", Severity.INFO),
        ("aten::constant_pad_nd", Severity.INFO),
    ],
)
def test_it_is_sure_of_lengths_to_which_zeros_were_padded(padded: str, severity: Severity) -> None:
    found = _one(padded, _r2c("64, 1021", "[1]"))
    assert found.severity == severity
    assert ("cut the result" in found.fix) == (severity == Severity.WARNING)


@pytest.mark.parametrize(
    "op",
    [
        "aten::_fft_r2c",
        "aten::_fft_r2c | float[64, 1021]",
        "aten::_fft_r2c | float[64, 1021], =[2], =0, =True",
        "aten::_fft_r2c | float[64, 1021], =, =0, =True",
        "aten::_fft_r2c | float[64, 1021], =[1.5], =0, =True",
        "aten::_fft_r2c | float[64, 0], =[1], =0, =True",
        "aten::_fft_r2c | float[64, 1024], =[1], =0, =True",
        "aten::_fft_c2r | c10::complex<float>[64, 511], =[1], =2",
        "aten::_fft_c2r | c10::complex<float>[64, 511], =[1], =2, =",
        "aten::_fft_c2r | c10::complex<float>[64, 511], =[1], =2, =99999999999999999999",
        "aten::_fft_c2r | c10::complex<float>[64, 511], =[1], =2, =-1021",
        "aten::mul | float[64, 1021], =[1]",
    ],
)
def test_it_is_found_where_the_length_is_not_known(op: str) -> None:
    found = _one(launch(op, _KERNEL))
    assert "of a length with a large prime factor" in found.message
    assert found.severity == Severity.INFO


def test_kernels_in_a_graph_are_found_without_an_operator() -> None:
    found = _one(under("cudaGraphLaunch", f"=> {_KERNEL}", "=> gemm 90us"))
    assert found.correction.edit is not None
    assert {kernel.name for kernel in found.events} == {_KERNEL.removesuffix(" 300us")}
    assert len(found.correction.edit.work) == len(found.events) == 2


def test_other_kernels_of_the_operator_count_and_those_of_others_do_not() -> None:
    inside = under("aten::mul > cudaLaunchKernel", "=> elementwise 90us")
    fft = _r2c("64, 1021", "[1]")
    fft += "  cudaLaunchKernel\n    => postprocess_kernel 50us\n"
    fft += "".join(f"  {line}\n" for line in inside.splitlines())
    edit = _one(fft, inside).correction.edit
    assert edit is not None
    trace = parse_outline(looped(fft, inside))
    names = [trace.event(row).name for row in edit.work]
    assert names == [_KERNEL.removesuffix(" 300us"), "postprocess_kernel"] * 2


def test_a_length_is_the_product_of_what_is_said() -> None:
    message = _one(_r2c("4, 33558", "[1]")).message
    factors = message.partition("(")[2].partition(")")[0].split(" x ")
    assert prod(int(each.replace(",", "")) for each in factors) == 33558
