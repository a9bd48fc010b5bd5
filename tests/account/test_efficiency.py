"""Rates reached by a device, by hand; operations of calls, by PyTorch's counter."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy
from tidy.account import OpWork, make_accounts
from tidy.account.efficiency import Efficiency
from tidy.account.op_nbytes import moved
from tidy.trace.outline import parse_outline

from ..oracle.shared import load, path_of

_A100 = "# device 0 NVIDIA A100-SXM4-80GB 8.0\n"


def _op(op: str, kernel: str) -> str:
    return f"{op}\n  cudaLaunchKernel\n    => {kernel}\n"


def _of(outline: str) -> Efficiency:
    (account,) = make_accounts(parse_outline(outline))
    assert account.efficiency is not None
    return account.efficiency


def test_products_by_precision() -> None:
    """10 us for 2 * 1000^3 operations are 200 TFLOP/s, 20 us for 2 * 100 * 200 * 300 are 0.6."""
    half = "c10::BFloat16[1000, 1000], c10::BFloat16[1000, 1000]"
    made = _of(
        _A100
        + _op(f"aten::mm | {half}", "cutlass_80_tensorop_bf16_s16816gemm 10us")
        + _op("aten::mm | float[100, 200], float[200, 300]", "ampere_sgemm_64x64_nn 20us")
    )
    rates = {each.precision: each for each in made.products}
    assert set(rates) == {"bfloat16", "float32"}
    assert rates["bfloat16"].flops_per_s == pytest.approx(200e12)
    assert rates["bfloat16"].peak_flops_per_s == 312e12
    assert rates["float32"].flops_per_s == pytest.approx(0.6e12)
    assert rates["float32"].peak_flops_per_s == 19.5e12
    needed_s = 2e9 / 312e12 + 12e6 / 19.5e12
    assert made.model_flops_utilization == pytest.approx(needed_s / (made.window_ns / 1e9))


def test_float32_on_tensor_cores_is_tf32() -> None:
    product = "aten::mm | float[64, 64], float[64, 64]"
    made = _of(_A100 + _op(product, "sm80_xmma_gemm_f32f32_tf32f32_f32_nn 10us"))
    (rate,) = made.products
    assert (rate.precision, rate.peak_flops_per_s) == ("tf32", 156e12)


@pytest.mark.parametrize(
    ("dtype", "kernel", "device", "expected"),
    [
        ("c10::BFloat16", "matmul_kernel", _A100, [("bfloat16", True)]),
        ("c10::BFloat16", "some_kernel", _A100, [("bfloat16", True)]),
        ("c10::BFloat16", "gemmSN_NN_kernel", _A100, [("bfloat16", False)]),
        ("float", "matmul_kernel", _A100, []),
        ("float", "fmha_cutlassF_f32_sm70", "# device 0 Tesla V100 7.0\n", [("float32", False)]),
        ("float", "matmul_kernel", "# device 0 Tesla V100 7.0\n", [("float32", False)]),
    ],
)
def test_a_product_is_held_against_the_cores_that_it_may_have_run_on(
    dtype: str, kernel: str, device: str, expected: list[tuple[str, bool]]
) -> None:
    """Float32 may be TF32 where the name does not tell, but not before TF32 there was."""
    made = _of(device + _op(f"aten::mm | {dtype}[64, 64], {dtype}[64, 64]", f"{kernel} 10us"))
    assert [(each.precision, each.on_matrix_cores) for each in made.products] == expected
    assert made.uncounted_ns == (0 if expected else 10_000)


def test_a_wrapper_of_autocast_counts_once() -> None:
    half = "c10::Half[64, 64], c10::Half[64, 64]"
    inner = _op(f"aten::mm | {half}", "cutlass_75_tensorop_f16_s1688gemm 10us")
    wrapped = "".join(f"  {line}\n" for line in inner.splitlines())
    made = _of(_A100 + f"aten::mm | float[64, 64], float[64, 64]\n{wrapped}")
    assert [(each.precision, each.flops) for each in made.products] == [("float16", 2 * 64**3)]


def test_without_sizes_or_a_known_device_less_is_said() -> None:
    unsized = _of(_A100 + _op("aten::mm", "ampere_sgemm_64x64_nn 20us"))
    assert (unsized.products, unsized.uncounted_ns) == ((), 20_000)
    assert unsized.model_flops_utilization is None
    product = "aten::mm | float[64, 64], float[64, 64]"
    unknown = _of("# device 0 Some GPU 8.0\n" + _op(product, "ampere_sgemm_64x64_nn 20us"))
    (rate,) = unknown.products
    assert (rate.flops, rate.peak_flops_per_s, unknown.rates) == (2 * 64**3, None, None)
    assert unknown.model_flops_utilization is None


def test_what_elementwise_operators_move() -> None:
    """Two inputs of 4 MB and a result are 12 MB, in 12 us 1 TB/s; a fill writes 4 MB in 4 us."""
    t = "float[1024, 1024]"
    made = _of(
        _A100
        + _op(f"aten::add | {t}, {t}, =1", "vectorized_elementwise_kernel 12us")
        + _op(f"aten::fill_ | {t}, =0", "vectorized_elementwise_kernel 4us")
        + _op(f"aten::erfinv | {t}", "vectorized_elementwise_kernel 5us")
    )
    mega = 4 * 1024 * 1024
    assert (made.elementwise_nbytes, made.elementwise_ns) == (4 * mega, 16_000)
    assert made.elementwise_uncounted_ns == 5_000


_T = "float[8, 4]"


@pytest.mark.parametrize(
    ("call", "nbytes"),
    [
        (f"aten::mul | {_T}, {_T}", 3 * 128),
        (f"aten::mul | {_T}, float[4]", 128 + 16 + 128),
        (f"aten::mul_ | {_T}, {_T}", 3 * 128),
        (f"aten::mul | {_T}, double[]", 2 * 128),
        (f"aten::copy_ | c10::Half[8, 4], {_T}, =False", 64 + 128),
        (f"aten::eq | {_T}, {_T}", 2 * 128 + 32),
        ("aten::add | c10::Half[8, 4], float[8, 1], =1", 64 + 32 + 128),
        (f"aten::zero_ | {_T}", 128),
        ("aten::mul | float[8, 3], float[4]", None),
        ("aten::mul", None),
    ],
)
def test_bytes_of_a_call(call: str, nbytes: int | None) -> None:
    trace = parse_outline(call)
    what = moved(trace.event(0).name, trace.inputs, int(trace.inputs_id[0]))
    assert (what and what.nbytes) == nbytes


@pytest.mark.oracle
def test_operations_are_those_of_pytorchs_counter(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    def run() -> None:
        x = torch.randn(2, 4, 9, 8, requires_grad=True)
        w = torch.randn(6, 4, 3, 3, requires_grad=True)
        torch.conv2d(x, w, None, (2, 1), (1, 0), (1, 2)).sum().backward()
        torch.conv_transpose1d(torch.randn(2, 4, 9), torch.randn(4, 6, 5), None, 2)
        torch.addmm(torch.randn(5), torch.randn(3, 4), torch.randn(4, 5))

    with FlopCounterMode(display=False) as counter:
        run()
    with torch.profiler.profile(record_shapes=True) as profiler:
        run()
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = tidy.load(tmp_path / "trace.json")
    counted = OpWork(trace).flops
    assert (counted > 0).all()
    assert int(counted.sum()) == counter.get_total_flops()


@pytest.mark.oracle
@pytest.mark.parametrize(("causal", "part"), [(False, 1.0), (True, 0.5)])
def test_operations_of_attention(tmp_path: Path, causal: bool, part: float) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import sdpa_backward_flop_count, sdpa_flop_count

    query, key = torch.randn(2, 3, 16, 8, requires_grad=True), torch.randn(2, 3, 16, 8)
    with torch.profiler.profile(record_shapes=True) as profiler:
        attend = torch.nn.functional.scaled_dot_product_attention
        attend(query, key, key, is_causal=causal).sum().backward()
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    dims = [tuple(query.shape)] * 4
    theirs = sdpa_flop_count(*dims[:3]), sdpa_backward_flop_count(*dims)
    ours = OpWork(tidy.load(tmp_path / "trace.json")).flops.tolist()
    assert ours == [part * each for each in theirs]


def _gradients(sizes: str, *rest: str) -> int:
    """Operations of a backward whose inputs are sizes of three tensors, and plain values."""
    call = ", ".join([sizes, *(f"={each}" for each in rest)])
    return int(OpWork(parse_outline(f"aten::convolution_backward | {call}")).flops[0])


def test_gradients_of_a_transposed_and_a_grouped_convolution() -> None:
    """By hand: PyTorch's counter has other numbers for their weights.

    Each of 2 * 4 * 9 inputs meets 6 * 5 weights; each of 2 * 6 * 5 * 4 results is the sum of
    2 * 3 * 3 products, and so are both gradients.
    """
    strides, mask = ("[0]", "[2]", "[0]", "[1]"), "[False, True, False]"
    sizes = "float[2, 6, 21], float[2, 4, 9], float[4, 6, 5]"
    flops = _gradients(sizes, *strides, "True", "[0]", "1", mask)
    assert flops == 2 * (2 * 4 * 9) * (6 * 5)
    sizes = "float[2, 6, 5, 4], float[2, 4, 9, 8], float[6, 2, 3, 3]"
    flops = _gradients(sizes, *strides, "False", "[0]", "2", "[True, True, False]")
    assert flops == 2 * 2 * (2 * 6 * 5 * 4) * (2 * 3 * 3)


@pytest.mark.parametrize(
    "name",
    [
        "tracelens__h100__facebook_timesformer",
        "tracelens__h100__Qwen_Qwen1",
        "misc__sidnb13",
        "tracelens__mi300__Falconsai_nsfw_image_detection",
        "param__dlrm__dlrm_kineto__worker0_step_12",
    ],
)
def test_no_recorded_run_is_faster_than_its_device(name: str) -> None:
    for account in make_accounts(load(path_of(name))):
        assert account.efficiency is not None
        assert account.efficiency.products
        for rate in account.efficiency.products:
            assert rate.peak_flops_per_s is not None
            assert 0 < rate.flops_per_s < rate.peak_flops_per_s


def test_a_v100_adds_and_clamps_at_the_rate_of_its_memory() -> None:
    """The elementwise operators of ResNet-50 are large: 900 GB/s is what its memory does."""
    (account,) = make_accounts(load(path_of("kineto__resnet50_num_workers_4")))
    assert account.efficiency is not None
    assert account.efficiency.nbytes_per_s == pytest.approx(900e9, rel=0.1)
