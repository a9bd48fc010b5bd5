"""Operators that now and then take far longer than their like are stalls of the host."""

from __future__ import annotations

import io

import pytest

from tidy.account import make_accounts
from tidy.report.account_text import print_account
from tidy.report.console import make_console
from tidy.trace.outline import parse_outline

_A100 = "# device 0 NVIDIA A100 8.0\n"
_PRODUCT = "  aten::mm\n    cudaLaunchKernel 5us\n      => gemm 9us\n"


def _stalls(op: str, *, first: int = 20_000, usual: int = 20, device: bool = True) -> list[int]:
    """The number of stalls and their time in us, if 5 of 60 calls of an operator take 20 ms.

    Args:
        op: an outline in which `{us}` stands for its time.
        first, usual: what its first call takes, and what others do, in us.
    """
    times = [first] + [20_000 if number % 12 == 5 else usual for number in range(1, 60)]
    calls = "".join(op.replace("{us}", f"{us}us") + _PRODUCT * device for us in times)
    trace = parse_outline(_A100 * device + "train\n" + _PRODUCT * device + calls)
    (account,) = make_accounts(trace)
    stalls = [part for part in account.parts if part.cause == "host-stall"]
    return [each for part in stalls for each in (part.calls, part.time_ns // 1000)]


@pytest.mark.parametrize(
    "op",
    [
        "  aten::view {us}\n",
        "  aten::empty {us}\n",
        "  aten::bmm {us} | float[9]\n    cudaLaunchKernel 5us\n      => bmm 2us\n",
        "  aten::add {us}\n    cudaLaunchKernel 5us\n      => add 2us\n",
        "  Optimizer.step#SGD.step\n    aten::detach {us}\n",
    ],
)
def test_a_device_idles_while_the_host_stalls(op: str) -> None:
    count, time_us = _stalls(op)
    assert count == 5
    assert 5 * 19_900 <= time_us <= 5 * 20_000


@pytest.mark.parametrize("op", ["  aten::view {us}\n", "  aten::mm {us} | float[9, 9]\n"])
def test_a_step_on_the_cpu_takes_longer_then(op: str) -> None:
    assert _stalls(op, device=False) == [5, 5 * 20_000]


@pytest.mark.parametrize(
    "op",
    [
        "  aten::sort {us}\n",  # what computes on the CPU takes as long as its input is large
        "  aten::view {us}\n    aten::sort 19990us\n",
        "  aten::empty {us}\n    cudaMalloc 19990us\n",
        "  aten::cudnn_convolution {us}\n    cudaLaunchKernel 5us\n      => conv 2us\n",  # a search
        "  aten::item {us}\n    cudaMemcpyAsync 5us\n      => Memcpy DtoH 1us\n",
        "  autograd::engine::evaluate_function: MulBackward0 {us}\n",  # and its hooks
        "  c10d::allreduce_ {us}\n    cudaLaunchKernel 5us\n      => add 2us\n",
        "  cudaStreamSynchronize {us}\n",
        "  enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n    aten::view {us}\n",
    ],
)
def test_what_works_or_waits_is_no_stall(op: str) -> None:
    assert not _stalls(op)


def test_what_is_slow_by_its_inputs_is_no_stall() -> None:
    assert not _stalls("  aten::mm {us}\n", device=False)
    assert not _stalls("  aten::copy_ {us} | float[9]\n", device=False)


def test_first_calls_and_slow_ones_are_no_stalls() -> None:
    assert _stalls("  aten::view {us}\n", first=90_000) == _stalls("  aten::view {us}\n")
    assert not _stalls("  aten::view {us}\n", usual=500)


def test_stalls_are_rare_and_happen_more_than_twice() -> None:
    few = "  aten::view\n" * 30 + "  aten::view 20000us\n" * 2
    often = "  aten::view\n" * 30 + "  aten::view 20000us\n" * 9
    for calls in (few, often):
        (account,) = make_accounts(parse_outline("train\n" + calls))
        assert "host-stall" not in [part.cause for part in account.parts]


def test_a_report_says_how_many_and_what_to_do() -> None:
    calls = "  aten::view\n" * 50 + "  aten::view 20000us\n" * 4
    (account,) = make_accounts(parse_outline("train\n" + calls))
    file = io.StringIO()
    print_account(make_console(file, 80), account)
    said = " ".join(file.getvalue().split())
    assert "host stalls (4 operators, 20.0 ms each)" in said
    assert "too few processors, a container's quota, or another process" in said
