"""TDY505: what counts as arithmetic in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy import Severity
from tidy.finding import Checked
from tidy.patterns.examples import steps
from tidy.trace import Trace
from tidy.trace.outline import parse_outline

from ..conftest import ReadEvents
from ..oracle.shared import TRACES, findings, path_of, raw_events
from ..trace.kineto import Written, call, kernel, op

_GPU = {"A100": (8, 0), "GeForce RTX 4090": (8, 9)}


def _launch(name: str, ts: float, types: list[str], dims: list[Any], us: float) -> list[Written]:
    """An op with one kernel of `us`."""
    number = int(ts)
    args = {"Input type": types, "Input Dims": dims, "External id": number}
    return [
        op(name, ts, 5, args=args),
        call("cudaLaunchKernel", ts + 1, 2, number, external=number),
        kernel("some_kernel", ts + 3, us, correlation=number, external=number),
    ]


def _properties(name: str) -> list[dict[str, Any]]:
    major, minor = _GPU[name]
    return [{"id": 0, "name": name, "computeMajor": major, "computeMinor": minor}]


def _read(read_events: ReadEvents, events: list[Written], gpu: str = "A100") -> Trace:
    return read_events(events, deviceProperties=_properties(gpu))


_MATRIX = [[64, 64], [64, 64]]


@pytest.mark.parametrize("name", ["mm", "addmm", "bmm", "addmv_", "convolution_backward"])
def test_products_and_convolutions(read_events: ReadEvents, name: str) -> None:
    events = _launch(f"aten::{name}", 10, ["double", "double"], _MATRIX, 50)
    (finding,) = tidy.check(_read(read_events, events), select=["TDY505"]).findings
    assert (finding.count, finding.cost_ns, finding.on_device) == (1, 50_000, True)
    assert finding.severity == Severity.WARNING


@pytest.mark.parametrize("types", [["float", "float"], ["c10::Half", "c10::Half"]])
def test_other_types(read_events: ReadEvents, types: list[str]) -> None:
    trace = _read(read_events, _launch("aten::mm", 10, types, _MATRIX, 50))
    assert tidy.check(trace, select=["TDY505"]).outcomes["TDY505"] == Checked()


@pytest.mark.parametrize(("gpu", "left"), [("A100", 2), ("GeForce RTX 4090", 64)])
def test_the_saving_is_that_of_the_gpu(read_events: ReadEvents, gpu: str, left: int) -> None:
    """An A100 has float64 units for half the rate of float32, a GeForce for one 64th."""
    trace = _read(read_events, _launch("aten::mm", 10, ["double"] * 2, _MATRIX, 64), gpu)
    (finding,) = tidy.check(trace, select=["TDY505"]).findings
    assert finding.saving is not None
    assert finding.saving.high_ns == 64_000 - 64_000 // left


@pytest.mark.parametrize(("us", "said"), [(3, False), (20, True)])
def test_elementwise_ops_count_from_a_share_on(
    read_events: ReadEvents, us: float, said: bool
) -> None:
    """3 and 20 us of 100 us."""
    events = [
        *_launch("aten::mul", 10, ["double", "float"], [[9], [9]], us),
        *_launch("aten::relu", 100, ["float"], [[9]], 7),
    ]
    trace = _read(read_events, events)
    assert bool(tidy.check(trace, select=["TDY505"]).findings) is said


_WEIGHT = "aten::mm 90us @train.py(9): train | double[8, 4], double[4, 6]"
_FLOAT = "aten::relu @train.py(3): train | float[8, 4]"
_ARRAY = "aten::lift_fresh @train.py(5): train | double[8, 4]"
_FROM_NUMPY = "<built-in method from_numpy of type object at 0x7f> @train.py(6): train"
_CAST = "aten::_to_copy @train.py(7): train | float[8, 4], =7"
_MIXED = "aten::mul @train.py(8): train | double[4, 8], float[8, 4]"
_OTHER = "aten::lift_fresh @train.py(4): train | double[5, 5]"


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ((_FLOAT, _ARRAY), 5),
        ((_FLOAT, _FROM_NUMPY), 6),
        ((_FLOAT, _CAST), 7),
        ((_FLOAT, _MIXED), 8),
        ((_OTHER, _ARRAY, _MIXED), 5),
        ((_OTHER, _FLOAT), None),  # of other sizes
        ((_ARRAY.replace("(5)", "(9)"),), None),  # the line that is named anyhow
        ((_CAST.replace("=7", "=6"),), None),
        ((_MIXED.replace("mul", "copy_"),), None),  # to float32
        (("aten::_to_copy @train.py(7): train",), None),
    ],
)
def test_where_float64_comes_in(before: tuple[str, ...], line: int | None) -> None:
    for text in (steps(*before, _WEIGHT), "\n".join((*before, _WEIGHT, ""))):
        trace = parse_outline(text)
        (found,) = tidy.check(trace, select=["TDY505"]).findings
        last = 8 if "ProfilerStep" not in text and _MIXED in before else line
        said = None if last is None else f"float64 comes in at train.py:{last}"
        assert (found.fix_place and str(found.fix_place)) == said


def _has_doubles(path: Path) -> bool:
    """Whether an op of the file has a tensor in float64 as an input; Python's numbers are scalars
    of the same type name, and have no sizes.
    """
    for event in raw_events(path):
        args = event.get("args") or {}
        types = args.get("Input type") or []
        dims = args.get("Input Dims", args.get("Input dims")) or []
        for dtype, shape in zip(types, dims, strict=False):
            if dtype == "double" and shape:
                return True
    return False


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_recorded_runs_without_doubles(path: Path) -> None:
    if not _has_doubles(path):
        assert findings(path, "TDY505") == []


@pytest.mark.parametrize(
    "name",
    [
        "kineto__resnet50_num_workers_0",  # 966 `mul_` by momentum, a number
        "kineto__resnet50_num_workers_4",
        "hta__rank_non_gpu",  # large ones, on the CPU
        "hta__negative_queue_length",
        "hta__trace_filter__sampled_rank-0",
        "param__dlrm__dlrm_kineto__worker0_step_12",
    ],
)
def test_numbers_and_small_tensors_are_no_arithmetic_in_float64(name: str) -> None:
    assert findings(path_of(name), "TDY505") == []


@pytest.mark.parametrize(
    ("gpu", "kernel", "left"),
    [
        ("A100", "cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1", (0.5, 1.0)),
        ("A100", "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tensor16x8x8_kernel", (0.5, 1.0)),
        ("A100", "volta_dgemm_64x64_nn", (0.5, 0.6)),
        ("GeForce RTX 4090", "cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1", (1 / 64, 0.6)),
    ],
)
def test_tensor_cores_are_as_fast_as_float32_on_others(
    read_events: ReadEvents, gpu: str, kernel: str, left: tuple[float, float]
) -> None:
    events = _launch("aten::mm", 10, ["double", "double"], _MATRIX, 50)
    events[-1]["name"] = kernel
    (finding,) = tidy.check(_read(read_events, events, gpu), select=["TDY505"]).findings
    assert finding.edit is not None
    assert finding.edit.left == left
