"""What products and convolutions cost: laws of any device, and figures that NVIDIA published."""

from __future__ import annotations

import pytest

from tidy.patterns.evidence.device.products import Precision, precision_of
from tidy.runtime.modelled.cost import Operand
from tidy.runtime.modelled.specs import DeviceSpec, find_spec

from .costs import EVERY, conv, cost, mm, ns

TILES = (64, 100, 512, 1000, 4096)


@pytest.mark.parametrize(
    ("key", "dtype", "peak"),
    [
        ("a100", "float16", 312e12),  # NVIDIA A100 data sheet
        ("h100", "bfloat16", 989.4e12),  # NVIDIA H100 white paper, dense
        ("v100", "float16", 125e12),
        ("a100", "float32", 19.5e12),
        ("v100", "float32", 15.7e12),
    ],
)
def test_a_large_product_comes_near_the_peak(key: str, dtype: str, peak: float) -> None:
    (found,) = mm(8192, 8192, 8192, dtype, find_spec(key))
    assert found.flops == 2 * 8192**3
    assert 0.6 <= found.flops / (found.duration_ns / 1e9) / peak <= 1.0


@EVERY
def test_no_product_is_faster_than_cores_or_memory_allow(spec: DeviceSpec) -> None:
    for m in TILES:
        for dtype in ("float32", "float16", "bfloat16", "float64"):
            for k in (64, 2048):
                plans = mm(m, m, k, dtype, spec, True)
                seconds = ns(plans) / 1e9
                rates = [spec.float32_flops_per_s, spec.tensor_tf32_flops_per_s]
                rates += [spec.tensor_float16_flops_per_s, spec.tensor_float64_flops_per_s]
                assert plans[0].flops / seconds < max(rates)
                assert plans[0].duration_ns >= spec.kernel_floor_ns
    for dtype in ("float32", "float16"):
        times = [ns(mm(512, 512, k, dtype, spec)) for k in range(512, 16384, 512)]
        assert times == sorted(times)


@EVERY
@pytest.mark.parametrize("shape", [(m, n, k) for m in TILES for n in (64, 1000) for k in TILES])
def test_tf32_is_never_slower(shape: tuple[int, int, int], spec: DeviceSpec) -> None:
    assert ns(mm(*shape, "float32", spec, True)) <= ns(mm(*shape, "float32", spec))


@pytest.mark.parametrize("key", ["v100", "t4", "a100", "h100"])
def test_rows_that_are_no_multiple_of_16_bytes_cost(key: str) -> None:
    """As NVIDIA's Matrix Multiplication Background User's Guide says of half precision."""
    spec = find_spec(key)
    aligned, even, odd = (ns(mm(4096, n, 4096, "float16", spec)) for n in (4096, 4094, 4095))
    assert aligned < even < odd
    assert ns(mm(4096, 4095, 4096, "float32", spec)) <= ns(mm(4096, 4096, 4096, "float32", spec))


def test_one_tile_more_than_the_device_has_room_for_costs_a_round() -> None:
    """Wave quantization: on 108 SMs, from what fills them to a little more.

    A result of 128 * 108 rows and 256 columns has 108 tiles of 256 by 128.
    """
    spec = find_spec("a100")
    full, more = (ns(mm(128 * rows, 256, 4096, "float16", spec)) for rows in (108, 109))
    assert more > 1.2 * full  # for 1 % more work
    per_tile = [ns(mm(256 * tiles, 128, 8192, "float16", spec)) / tiles for tiles in (108, 109)]
    assert per_tile[1] > per_tile[0]


@EVERY
def test_half_precision_is_faster_where_tensor_cores_have_it(spec: DeviceSpec) -> None:
    single = ns(mm(4096, 4096, 4096, "float32", spec))
    assert ns(mm(4096, 4096, 4096, "float16", spec)) < single / 2
    if not spec.tensor_bfloat16_flops_per_s:
        assert ns(mm(4096, 4096, 4096, "bfloat16", spec)) > single / 2
    with_tf32 = ns(mm(1024, 1024, 1024, "float32", spec, True))
    assert ns(mm(1024, 1024, 1024, "float64", spec)) >= with_tf32


@pytest.mark.parametrize(
    ("slow", "fast"),
    [("t4", "v100"), ("v100", "a100"), ("a100", "a100-80"), ("a100-80", "h100"), ("h100", "h200"),
     ("h200", "b200"), ("t4", "l4")],
)  # fmt: skip
def test_a_faster_device_is_never_slower_on_large_work(slow: str, fast: str) -> None:
    one, other = find_spec(slow), find_spec(fast)
    for dtype in ("float32", "float16"):
        assert ns(mm(8192, 8192, 8192, dtype, other)) <= ns(mm(8192, 8192, 8192, dtype, one))
        times = [ns(conv(dtype, each, channels=256, kernel=3)) for each in (other, one)]
        assert times == sorted(times)
    if (slow, fast) == ("t4", "l4"):  # which has less bandwidth than a T4
        return
    big = Operand((1 << 26,), "float32")
    times = [ns(cost("aten::add", [big, big], [big], each)) for each in (other, one)]
    assert times == sorted(times)


@EVERY
def test_what_kernels_a_convolution_is(spec: DeviceSpec) -> None:
    x, weight = Operand((8, 64, 28, 28), "float32"), Operand((128, 64, 3, 3), "float32")
    out, flops = Operand((8, 128, 14, 14), "float32"), 2 * 8 * 128 * 14 * 14 * 64 * 9
    forward = cost("aten::convolution", [x, weight], [out], spec)
    for_input = cost("aten::convolution_backward", [out, weight], [x], spec)
    for_weight = cost("aten::convolution_backward", [out, x], [weight], spec)
    both = cost("aten::convolution_backward", [out, x, weight], [x, weight], spec)
    assert forward[0].flops == for_input[0].flops == for_weight[0].flops == flops
    assert "dgrad" in for_input[0].name
    assert "wgrad" in for_weight[0].name
    assert both == for_input + for_weight
    x, weight = Operand((8, 16, 8, 8), "float32"), Operand((16, 16, 1, 1), "float32")
    without = cost("aten::convolution", [x, weight], [x], spec)
    bias = Operand((16,), "float32")
    assert cost("aten::convolution", [x, weight, bias], [x], spec)[:-1] == without


def test_as_many_samples_as_channels_are_told_apart() -> None:
    spec = find_spec("h100")
    x, weight = Operand((16, 16, 8, 8), "float32"), Operand((16, 16, 3, 3), "float32")
    assert "dgrad" in cost("aten::convolution_backward", [x, weight], [x], spec)[0].name
    assert "wgrad" in cost("aten::convolution_backward", [x, x], [weight], spec)[0].name


@EVERY
@pytest.mark.parametrize("kernel", [1, 3])
def test_convolutions_gain_by_tensor_cores_too(spec: DeviceSpec, kernel: int) -> None:
    single = ns(conv("float32", spec, channels=256, kernel=kernel))
    half = ns(conv("float16", spec, channels=256, kernel=kernel))
    with_tf32 = conv("float32", spec, True, channels=256, kernel=kernel)
    assert half < single
    assert ns(with_tf32) <= single
    if spec.key in ("a100-40", "h100", "b200"):
        assert ns(with_tf32) < single
        assert Precision.TF32 in {precision_of(each.name) for each in with_tf32}
