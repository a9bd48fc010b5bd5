"""Outlines of loops on a GPU, and what a rule says of them."""

from __future__ import annotations

from tidy.finding import Checked, Finding
from tidy.patterns.base import Pattern
from tidy.patterns.examples import copy, launch, on_gpu, under
from tidy.patterns.runner import run_patterns
from tidy.trace.outline import parse_outline

WORK = launch("aten::mm", "gemm 100us")
READ = under(
    "aten::item",
    copy(
        "DtoH (Device -> Pageable) 1us 4B",
        op="aten::_local_scalar_dense",
        call="cudaMemcpyAsync 150us",
        wait_us=3,
    ),
)


def said(rule: type[Pattern], outline: str) -> list[Finding]:
    """The findings of a rule on a GPU run."""
    outcome = run_patterns(parse_outline(on_gpu(outline)), [rule()])[rule.code]
    assert isinstance(outcome, Checked), outcome
    return list(outcome.findings)
