"""TDY203 to TDY206: casts, layouts, small copies and indexes, on recorded traces and together."""

from __future__ import annotations

import re

import pytest

import tidy
from tidy.patterns.examples import launch, looped
from tidy.trace.outline import parse_outline

from ..oracle.shared import decoded, findings, load, path_of, published, report

_CODES = ("TDY203", "TDY204", "TDY205", "TDY206")
_CONVERTS = re.compile(r"nchwToNhwc|nhwcToNchw|^batched_transpose|^transpose_(NCHW|CNHW)2")


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("hta__nccl_parser_config__nccl_data", "channels_last), and the images too"),
        ("tracelens__mi300__resnet_act_checkpoint", "PYTORCH_MIOPEN_SUGGEST_NHWC=1"),
    ],
)
def test_layouts_of_recorded_runs(name: str, fix: str) -> None:
    path = path_of(name)
    (found,) = findings(path, "TDY204")
    assert found.fix.endswith(fix)
    in_file = [
        event["dur"]
        for event in decoded(path)["traceEvents"]
        if event.get("cat") == "kernel" and _CONVERTS.search(event["name"])
    ]
    assert found.cost_ns <= round(sum(in_file) * 1000)
    if "nccl" in name:  # all of its steps count
        trace = load(path)
        (alone,) = tidy.check(trace, select=["TDY204"], savings="off").findings
        in_all_ns = alone.cost_ns * len(trace.window.steps)
        assert in_all_ns == pytest.approx(sum(in_file) * 1000, rel=1e-3)


def test_nothing_is_said_of_other_recorded_runs() -> None:
    """Upcasts of norms, `contiguous()` for attention, first layers in NHWC, copies of buckets."""
    said = {
        path.name.partition("__")[2].partition(".")[0]: {f.code for f in report(path).findings}
        for path in published()
    }
    found = {name for name, codes in said.items() if codes.intersection(_CODES)}
    having = {"nccl_parser_config__nccl_data", "mi300__resnet_act_checkpoint"}
    assert found == having & said.keys()


_UPLOAD = (
    "aten::to | long int[64]\n  aten::_to_copy | long int[64]\n"
    "    aten::copy_ | long int[64], long int[64], =False\n      cudaMemcpyAsync 9us\n"
    "        => Memcpy HtoD (Pageable -> Device) 3us {nbytes}B\n      cudaStreamSynchronize 9us\n"
)
_LOOKUP = "aten::index | float[999, 8], long int[64]\n  cudaLaunchKernel\n    => index_kernel 5us\n"
_GATHER = _LOOKUP.replace("index | float[999, 8],", "gather | float[999, 8], Scalar,")
_HEAD = "# device 0 NVIDIA A100 8.0\n"


def _inside(text: str, name: str) -> str:
    return name + "\n" + "".join(f"  {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("ops", "code"),
    [
        (_UPLOAD + _LOOKUP, "TDY206"),
        ("aten::argsort | float[64]\n" + _UPLOAD + _GATHER, "TDY206"),
        (_UPLOAD + _GATHER, "TDY103"),  # it may have come with the batch
        (_inside(_UPLOAD, "aten::index | float[999, 8], long int[64]"), "TDY206"),
        ("aten::arange | =64\n" + _UPLOAD + _LOOKUP, "TDY201"),
        (_UPLOAD + "aten::mm\n", "TDY103"),
        (_inside(_UPLOAD, "<built-in method tensor of type object>") * 3, "TDY304"),
    ],
)
def test_each_upload_is_reported_once(ops: str, code: str) -> None:
    nbytes = {"TDY304": 32, "TDY103": 262144}.get(code, 512)
    step = _inside(
        _inside(ops.format(nbytes=nbytes), "train.py(7): train"), "ProfilerStep#{} 200us"
    )
    trace = parse_outline(_HEAD + "".join(step.format(number) for number in (1, 2, 3)))
    codes = ["TDY103", "TDY201", "TDY206", "TDY304"]
    found = tidy.check(trace, select=codes, savings="off").findings
    assert {each.code for each in found} == {code}


def test_small_copies_of_a_loop_over_rows_are_that_rules() -> None:
    """`out[i] = row` is TDY404's; slices have no index, and are TDY205's."""
    copy = (
        "aten::copy_ 9us | float[64], float[64], =False\n  cudaMemcpyAsync\n"
        "    => Memcpy DtoD (Device -> Device) 1us 256B\n"
    )
    for view, code in (
        ("aten::select | float[99, 64], =0, ={}", "TDY404"),
        ("aten::slice", "TDY205"),
    ):
        body = "".join(f"{view.format(at)}\n{copy}" for at in range(60))
        step = _inside(_inside(body, "train.py(7): train"), "ProfilerStep#{} 900us")
        trace = parse_outline(_HEAD + "".join(step.format(number) for number in (1, 2)))
        found = tidy.check(trace, select=["TDY404", "TDY205"], savings="off").findings
        assert {each.code for each in found} == {code}


_NORM = "aten::native_batch_norm | c10::BFloat16[8, 64, {0}], float[64], float[64]"


@pytest.mark.parametrize(
    ("shape", "kernel", "left"),
    [
        (
            "32, 32",
            "batch_norm_collect_statistics_kernel<float>",
            (0.35 * 3 / 4, (3 * 0.8 + 0.25) / 4),
        ),
        ("32, 32", "batch_norm_collect_statistics_channels_last_kernel<float>", (0.0, 0.25)),
        ("32", "batch_norm_collect_statistics_kernel<float>", (0.0, 0.25)),
    ],
)
def test_batch_norms_of_images_in_nchw_gain_too(
    shape: str, kernel: str, left: tuple[float, float]
) -> None:
    """Of each convolution 20 us are copies; its batch norm takes 60 us."""
    copies = "cudnn::ops::nchwToNhwcKernel<float> 10us", "cudnn::ops::nhwcToNchwKernel<float> 10us"
    layer = launch("aten::conv2d > aten::cudnn_convolution", *copies, "sm80_xmma_fprop_nhwc 40us")
    layer += launch(_NORM.format(shape), f"void at::native::{kernel} 60us")
    trace = parse_outline(looped(layer * 4, lasts_us=900))
    (found,) = tidy.check(trace, select=["TDY204"]).findings
    assert found.edit is not None
    assert found.edit.left == pytest.approx(left)
    assert ("batch norms read NCHW" in found.message) == (left[0] > 0)


def test_convolutions_of_signals_have_no_channels_last() -> None:
    copies = "cudnn::ops::nchwToNhwcKernel<float> 10us", "sm80_xmma_fprop_nhwc 40us"
    layer = launch("aten::conv1d > aten::cudnn_convolution", *copies)
    other = launch("aten::conv2d > aten::cudnn_convolution", *copies)
    of_signals, of_both = (
        tidy.check(parse_outline(looped(each * 4, lasts_us=900)), select=["TDY204"]).findings[0]
        for each in (layer, layer + other)
    )
    assert of_signals.fix.startswith("Conv2d of height 1")
    assert of_both.fix.startswith("model.to(memory_format=torch.channels_last)")
