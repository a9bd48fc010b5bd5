"""TDY504 where `F.scaled_dot_product_attention` ran, and fell back to several operators."""

from __future__ import annotations

import pytest

import tidy
from tidy import Severity
from tidy.patterns.examples import launch, on_gpu, steps, under
from tidy.trace.outline import parse_outline

_CALL = "aten::scaled_dot_product_attention"
_PARTS = (
    launch("aten::bmm | float[64, 512, 60], float[64, 60, 512]", "gemm 300us"),
    launch("aten::softmax > aten::_softmax | float[8, 8, 512, 512], =-1, =False", "softmax 400us"),
    launch("aten::bmm | float[64, 512, 512], float[64, 512, 60]", "gemm 300us"),
)


def _found(inputs: str) -> list[tidy.Finding]:
    inside = under("aten::_scaled_dot_product_attention_math", *_PARTS)
    trace = parse_outline(on_gpu(steps(under(_CALL + inputs, inside), count=4, lasts_us=1100)))
    return list(tidy.check(trace, select=["TDY504"], savings="off").findings)


def _inputs(*dtypes_and_dims: str) -> str:
    return " | " + ", ".join(dtypes_and_dims)


@pytest.mark.parametrize(
    ("inputs", "fix"),
    [
        (_inputs(*["double[8, 8, 512, 64]"] * 3), "fused kernels take no float64"),
        (_inputs(*["c10::Half[8, 8, 512, 60]"] * 3), "pad heads to a multiple of 8 columns"),
        (
            _inputs("float[8, 8, 512, 64]", *["float[8, 2, 512, 64]"] * 2),
            "fused kernels want q, k and v of the same batch and heads",
        ),
        (_inputs(*["c10::Half[8, 8, 512, 64]"] * 3), "sdpa_kernel("),
        (_inputs(*["float[8, 8, 512, 60]"] * 3), "sdpa_kernel("),
        (_inputs("float[8, 512, 64]", "float", "-"), "sdpa_kernel("),
        ("", "sdpa_kernel("),
    ],
    ids=["float64", "odd heads", "few heads", "nothing odd", "float32", "odd inputs", "no shapes"],
)
def test_what_keeps_it_from_a_fused_kernel(inputs: str, fix: str) -> None:
    found = _found(inputs)[0]
    assert found.severity == Severity.INFO
    assert found.message.startswith("scaled_dot_product_attention falls back")
    assert found.fix.startswith(fix)


def test_attention_by_hand_is_a_warning_still() -> None:
    trace = parse_outline(on_gpu(steps(*_PARTS, count=4, lasts_us=1100)))
    found = tidy.check(trace, select=["TDY504"], savings="off").findings[0]
    assert found.severity == Severity.WARNING
    assert found.fix.startswith("F.scaled_dot_product_attention(q, k, v)")
