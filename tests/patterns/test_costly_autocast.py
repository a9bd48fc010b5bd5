"""TDY506: what autocast casts, against all that half precision saves."""

from __future__ import annotations

import pytest

from tidy.patterns.examples import launch, on_gpu, steps, under
from tidy.patterns.rules.costly_autocast import CostlyAutocast
from tidy.trace.outline import parse_outline

from .outlines import said

_TO_HALF = launch(
    "aten::to seq=4 | float[64, 64] > aten::_to_copy"
    " > aten::copy_ {us}us | c10::Half[64, 64], float[64]",
    "copy_kernel {us}us",
)
_LAYER = under(
    "aten::linear | float[64, 64], float[64, 64]",
    _TO_HALF,
    launch("aten::mm | c10::Half[64, 64], c10::Half[64, 64]", "s16816gemm_fp16 4us"),
)
_NODE = "autograd::engine::evaluate_function: ToCopyBackward0 seq=4/1"
_BACKWARD = under(
    f"{_NODE} > ToCopyBackward0 seq=4/1",
    launch("aten::to | c10::Half[64, 64]", "copy_kernel 60us"),
)


def _layer(us: int) -> str:
    return _LAYER.format(us=us)


def test_the_backward_of_casts_counts() -> None:
    """The forward's cast is cheaper than what a product of 30 us may save."""
    forward = _layer(us=3).replace("fp16 4us", "fp16 30us")
    assert not said(CostlyAutocast, steps(forward, "work 90us", count=3, lasts_us=None))
    both = steps(forward, "work 90us", _BACKWARD, "work 90us", count=3, lasts_us=None)
    (found,) = said(CostlyAutocast, both)
    assert found.message.endswith("us a step, half precision saves 0 to 30.0 us")


@pytest.mark.parametrize(("product_us", "is_said"), [(65, True), (75, False)])
def test_casts_in_a_row_are_added_up(product_us: int, is_said: bool) -> None:
    """Three casts of 20 us each, for which the GPU idles 4 us each, and a product of so long."""
    product = f"fp16 {product_us}us"
    layer = _TO_HALF.format(us=20) * 2 + _layer(us=20).replace("fp16 4us", product)
    layer = under("aten::linear | float[64, 64], float[64, 64]", layer)
    found = said(CostlyAutocast, steps(layer, "work 90us", count=3, lasts_us=None))
    assert bool(found) == is_said
    if is_said:
        assert "casts 72.0 us a step, half precision saves 0 to 65.0 us" in found[0].message


def test_what_the_host_casts_while_the_gpu_idles_counts() -> None:
    slow = _layer(us=3).replace("aten::copy_ 3us |", "aten::copy_ 80us |")
    (found,) = said(CostlyAutocast, steps(slow, count=3, lasts_us=None))
    assert "half precision saves 0 to 4.00 us" in found.message
    hidden = launch("aten::relu", "relu_kernel 900us") + slow
    assert not said(CostlyAutocast, steps(hidden, count=3, lasts_us=None))


def test_half_precision_of_unknown_sizes_may_save_much() -> None:
    """On a V100, where float32 has an eighth of the rate, all of a kernel may be operations."""
    v100 = "# device 0 Tesla V100-SXM2-16GB 7.0\n"
    template = launch("mine::mm | c10::Half[64, 64]", "s884gemm_fp16 20us")
    a100 = on_gpu(steps(_layer(us=90), template, "work 200us", count=3, lasts_us=None))
    assert said(CostlyAutocast, a100.partition("\n")[2])
    assert not _on(v100, a100.partition("\n")[2])


def _on(gpu: str, outline: str) -> object:
    return list(CostlyAutocast().find(parse_outline(gpu + outline)))
