"""TDY501 and TDY502 on the same kernels: TF32 first, and half precision for what it adds."""

from __future__ import annotations

import tidy
from tidy import Report, Severity
from tidy.patterns.examples import launch, on_gpu, steps
from tidy.trace.outline import parse_outline

_PRODUCT = "aten::mm | float[4096, 4096], float[4096, 4096]"
_KERNEL = "ampere_sgemm_128x128_nn 9000us"
_WAIT = "aten::item\n  cudaDeviceSynchronize 9100us"


def _checked(*parts: str) -> Report:
    # Most calls are short: the replay tells waits from them.
    few = launch("aten::relu", "relu_kernel 2us") * 3
    outline = on_gpu(steps(few, *parts, count=4, lasts_us=10_000))
    return tidy.check(parse_outline(outline), select=["TDY501", "TDY502"])


def test_tf32_comes_first_and_half_precision_adds_to_it() -> None:
    """9 ms of 10 in float32: TF32 leaves an eighth at best, bfloat16 half of that."""
    report = _checked(launch(_PRODUCT, _KERNEL), _WAIT)
    first, second = report.findings
    assert (first.code, second.code) == ("TDY501", "TDY502")
    assert first.saving is not None
    assert second.saving is not None
    assert second.saving.high_ns < first.saving.high_ns
    assert "TDY501" in second.fix
    assert "TDY502" not in first.fix
    # Together they save no more than the kernels take, and no less than the first alone.
    before, after = report.weighed.step_ns, report.weighed.step_ns_after
    assert after is not None
    assert before - 9_000_000 <= after[0] <= first.saving.step_ns_after[0]


def test_where_tf32_is_on_there_is_one_finding() -> None:
    tf32 = "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32 9000us"
    (finding,) = _checked(launch(_PRODUCT, tf32), _WAIT).findings
    assert finding.code == "TDY502"
    assert "TF32" in finding.message
    assert finding.saving is not None
    # Twice the rate: no more than half of 9 ms a step, and a little at the least.
    assert 0 < finding.saving.low_ns < finding.saving.high_ns <= 4 * 4_600_000


def test_of_an_unknown_gpu_next_to_nothing_is_certain() -> None:
    """Half precision may be as fast as float32 there, or many times faster."""
    few = launch("aten::relu", "relu_kernel 2us") * 3
    made = steps(few, launch(_PRODUCT, _KERNEL), _WAIT, count=4, lasts_us=10_000)
    outline = on_gpu(made).replace("NVIDIA A100", "NVIDIA X999")
    assert "X999" in outline
    known, unknown = (
        tidy.check(parse_outline(text), select=["TDY502"]).findings[0].saving
        for text in (on_gpu(made), outline)
    )
    assert known is not None
    assert unknown is not None
    assert unknown.high_ns > known.high_ns
    assert unknown.low_ns == 0


def test_products_that_memory_holds_up_gain_less() -> None:
    """8 x 16384 times 16384 x 16384 reads a gigabyte for few operations."""
    thin = "aten::mm | float[8, 16384], float[16384, 16384]"
    large, small = (
        _checked(launch(product, "sgemm_128x128_nn 900us"), _WAIT.replace("9100us", "910us"))
        for product in ("aten::mm | float[1024, 1024], float[1024, 1024]", thin)
    )
    saved = [
        sum(f.saving.high_ns for f in report.findings if f.saving and f.code == "TDY502")
        for report in (small, large)
    ]
    assert saved[0] <= saved[1] > 0


def test_products_of_compiled_code_count_without_an_operator() -> None:
    """Their sizes are not known, so memory may hold them up: less is certain than of operators."""
    region = "aten::neg | float[64]\nTorch-Compiled Region: 0/0"
    by_op, by_kernel = (_checked(launch(op, _KERNEL), _WAIT).findings for op in (_PRODUCT, region))
    assert [each.code for each in by_kernel] == [each.code for each in by_op]
    assert by_kernel[0].cost_ns == by_op[0].cost_ns
    assert by_kernel[0].saving is not None
    assert by_op[0].saving is not None
    assert 0 < by_kernel[0].saving.low_ns < by_op[0].saving.low_ns
    assert "TDY501" in by_kernel[1].fix


def test_products_in_graphs_may_gain_nothing() -> None:
    """Of these no sizes are recorded; it is said where they are most."""
    tf32 = "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32 9000us"
    (in_graph,) = _checked(launch("graph", tf32, call="cudaGraphLaunch"), _WAIT).findings
    (by_op,) = _checked(launch(_PRODUCT, tf32), _WAIT).findings
    assert (in_graph.severity, by_op.severity) == (Severity.INFO, Severity.WARNING)
    assert "in CUDA graphs" in in_graph.message
    assert "in CUDA graphs" not in by_op.message
    assert in_graph.saving is not None
    assert by_op.saving is not None
    assert in_graph.saving.low_ns == 0 < by_op.saving.low_ns
    assert in_graph.saving.high_ns > 0
    mixed = launch("graph", tf32.replace("9000", "800"), call="cudaGraphLaunch")
    (found,) = _checked(launch(_PRODUCT, tf32), mixed, _WAIT).findings
    assert "in CUDA graphs" not in found.message
