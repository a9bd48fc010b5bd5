"""Rules read shapes and types of any sort: a damaged file may hold anything there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidy
from tidy.errors import TidyError
from tidy.finding import Checked
from tidy.readers import read_trace
from tidy.trace import Trace

from ..cli.traces import event, write

_ODD = [
    [], [0], [1], [-1], [3, 4], [16, 4, 4, 4], [[2], [3]], [[], 3], [None], None, 7, "x", [1.5],
    [True], [2**70], [2**62, 2**62], ["4"], {"a": 1}, [[[[1]]]],
]  # fmt: skip
_TYPES = ["float", "double", "c10::Half", "long int", "", 7, None, ["float"], "Scalar"]
_CONCRETE = ["", "True", "False", "1", 3, None, [1], "nan"]
_NAMES = [
    "aten::conv2d", "aten::conv_transpose2d", "aten::linear", "aten::batch_norm", "aten::add_",
    "aten::mm", "aten::addmm", "aten::copy_", "aten::to", "aten::_to_copy", "aten::fill_",
    "aten::zero_", "aten::select", "aten::item", "aten::ones",
]  # fmt: skip
_OPS = st.lists(
    st.tuples(
        st.sampled_from(_NAMES),
        st.lists(st.sampled_from(_ODD), max_size=6),
        st.lists(st.sampled_from(_TYPES), max_size=6),
        st.lists(st.sampled_from(_CONCRETE), max_size=6),
    ),
    max_size=10,
)
_A100 = [{"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0}]


def _trace(path: Any, ops: list[tuple[str, list[Any], list[Any], list[Any]]]) -> Trace:
    """Each op launches a kernel; some are copies to the device."""
    events = []
    for i, (name, dims, types, values) in enumerate(ops, 1):
        at, link = 100.0 * i, {"correlation": i, "External id": i}
        args = {"Input Dims": dims, "Input type": types, "Concrete Inputs": values}
        events.append(event("cpu_op", name, at, 50, **{**args, "External id": i}))
        events.append(event("cuda_runtime", "cudaLaunchKernel", at + 1, 5, **link))
        sort = ("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)") if i % 3 else ("kernel", "sgemm")
        events.append(event(*sort, at + 9, 20, device=0, stream=7, **link))
    return read_trace(write(path, events, deviceProperties=_A100))


@given(_OPS)
def test_no_rule_crashes(
    tmp_path_factory: pytest.TempPathFactory,
    ops: list[tuple[str, list[Any], list[Any], list[Any]]],
) -> None:
    path = tmp_path_factory.getbasetemp() / "odd.json"
    try:
        trace = _trace(path, ops)
    except TidyError:
        return
    report = tidy.check(trace, name="aten")
    assert {code: each.error for code, each in report.crashed.items()} == {}
    assert str(report)


def test_what_is_no_shape_is_none(tmp_path: Any) -> None:
    trace = _trace(tmp_path / "odd.json", [("aten::mm", _ODD, _TYPES, [])])
    (op,) = trace.named("aten::mm")
    shapes = [s for s in op.input_shapes if s not in ((), ((),))]
    assert shapes == [(0,), (1,), (-1,), (3, 4), (16, 4, 4, 4), ((2,), (3,)), ((), ())]
    assert all(isinstance(each, str) for each in op.input_dtypes)


@pytest.mark.parametrize(
    ("layer", "norm"),
    [
        ([[16, 1, 4, 4], [], [4]], [[16, 4, 4, 4]]),
        ([[16], [4], [4]], [[16]]),
        ([[16, 1], [[4], [1]], [4]], [[16]]),
        ([[16, 1, 4, 4], [4, 1, 3, 3], [4]], [[16, None]]),
    ],
)
def test_a_layer_whose_shapes_do_not_tell(tmp_path: Any, layer: Any, norm: Any) -> None:
    types = ["float"] * 3
    ops = [("aten::conv2d", layer, types, []), ("aten::batch_norm", norm, types[:1], [])]
    report = tidy.check(_trace(tmp_path / "odd.json", ops), select=["TDY701"])
    assert (report.crashed, report.findings) == ({}, ())


@pytest.mark.parametrize("index", ["9" * 5000, str(10**30), "\u00b2", "-1", "x"])
def test_no_rule_crashes_on_loops_over_any_index(index: str, tmp_path: Path) -> None:
    ops = [
        (name, [[16, 4]], ["float"], ["", "0", index, index, "1"])
        for _ in range(12)
        for name in ("aten::select", "aten::slice", "aten::mul")
    ]
    outcomes = tidy.check(_trace(tmp_path / "odd.json", ops), select=["TDY404", "TDY406"]).outcomes
    assert {type(each) for each in outcomes.values()} == {Checked}
