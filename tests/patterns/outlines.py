"""Outlines of loops on a GPU, and what a rule says of them."""

from __future__ import annotations

from textwrap import dedent, indent

from tidy.finding import Checked, Finding
from tidy.patterns.base import Pattern
from tidy.patterns.runner import run_patterns
from tidy.trace.outline import parse_outline

GPU = "# device 0 NVIDIA A100 8.0\n"
WORK = "aten::mm\n  cudaLaunchKernel\n    => gemm 100us\n"


def copied(memory: str, nbytes: int, shape: str = "64, 1024", non_blocking: bool = False) -> str:
    """`tensor.to("cuda")`, which takes 30 us, of them 20 on the device."""
    tensor = f"float[{shape}]"
    wait = "" if non_blocking else "      cudaStreamSynchronize 25us\n"
    return (
        f"aten::to | {tensor}\n"
        f"  aten::_to_copy | {tensor}\n"
        f"    aten::copy_ | {tensor}, {tensor}, ={non_blocking}\n"
        "      cudaMemcpyAsync\n"
        f"        => Memcpy HtoD ({memory} -> Device) 20us {nbytes}B\n" + wait
    )


READ = """\
aten::item
  aten::_local_scalar_dense
    cudaMemcpyAsync 150us
      => Memcpy DtoH (Device -> Pageable) 1us 4B
    cudaStreamSynchronize 3us
"""


def under(name: str, *parts: str) -> str:
    """Parts below an event."""
    return f"{name}\n" + indent("".join(map(dedent, parts)), "  ")


def steps(*parts: str, count: int = 3, lasts_us: int = 1000) -> str:
    """So many steps, each with all parts."""
    return "".join(under(f"ProfilerStep#{i} {lasts_us}us", *parts) for i in range(count))


def said(rule: type[Pattern], outline: str) -> list[Finding]:
    """The findings of a rule on a GPU run."""
    outcome = run_patterns(parse_outline(GPU + outline), [rule()])[rule.code]
    assert isinstance(outcome, Checked), outcome
    return list(outcome.findings)
