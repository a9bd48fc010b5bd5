"""What operators cost whose limit is memory, and copies; and that every operator has a cost."""

from __future__ import annotations

import pytest

import tidy.runtime.ops.methods
from tidy.runtime.modelled.cost import KernelPlan, Operand, copy_ns, memset_ns, occupancy
from tidy.runtime.modelled.specs import DeviceSpec, find_spec
from tidy.runtime.ops.foreach import OPERATORS
from tidy.runtime.ops.make.table import TABLE

from .costs import EVERY, cost, ns

assert tidy.runtime.ops.methods


@EVERY
@pytest.mark.parametrize(
    "op",
    ["aten::add", "aten::sum", "aten::_log_softmax", "aten::cumsum", "aten::sort", "aten::copy_",
     "aten::cat", "aten::uniform_", "aten::zero_", "aten::native_batch_norm", "aten::unheard_of",
     "aten::_foreach_mul_", "aten::index_put_", "aten::mse_loss"],
)  # fmt: skip
def test_more_bytes_are_never_faster(op: str, spec: DeviceSpec) -> None:
    times = []
    for rows in (1, 2, 8, 64, 512, 4096, 32768):
        x = Operand((rows, 256), "float32")
        out = Operand((1, 256), "float32") if op == "aten::sum" else x
        found = cost(op, [x], [out], spec)
        assert all(each.duration_ns >= spec.kernel_floor_ns for each in found)
        times.append(ns(found))
    assert times == sorted(times)
    assert times[-1] > times[0]


@EVERY
def test_a_large_stream_has_the_bandwidth_of_the_memory_and_an_empty_one_no_kernel(
    spec: DeviceSpec,
) -> None:
    x = Operand((1 << 28,), "float32")
    (found,) = cost("aten::add", [x, x], [x], spec)
    assert found.nbytes == 3 << 30
    assert 0.75 < found.nbytes / (found.duration_ns / 1e9) / spec.memory_bytes_per_s < 1
    empty = Operand((0, 4), "float32")
    assert cost("aten::add", [empty, empty], [empty], spec) == ()
    assert cost("aten::_local_scalar_dense", [x], [], spec) == ()
    assert cost("aten::empty", [], [x], spec) == ()


def test_an_index_reads_what_it_picks_and_many_tensors_are_few_kernels() -> None:
    spec, indices = find_spec("a100"), Operand((16,), "int64")
    out = Operand((16, 64), "float32")
    small, large = (
        cost("aten::embedding", [Operand((rows, 64), "float32"), indices], [out], spec)
        for rows in (100, 10**7)
    )
    assert ns(small) == ns(large)
    spec, x = find_spec("h100"), Operand((1000,), "float32")
    together = cost("aten::_foreach_mul_", [x] * 100, [x] * 100, spec)
    assert len(together) <= 2
    assert ns(together) < 100 * ns(cost("aten::mul_", [x], [x], spec)) / 10
    big = Operand((4096, 4096), "float32")
    assert len(cost("aten::_foreach_mul_", [big] * 4, [big] * 4, spec)) > 1


@pytest.mark.parametrize("key", ["v100", "a100", "b200"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "bool", "complex64"])
def test_every_operator_of_the_runtime_has_a_cost(dtype: str, key: str) -> None:
    """Whatever its arguments look like; nine tensors of four dimensions stand for them."""
    x, spec = Operand((4, 4, 4, 4), dtype), find_spec(key)
    names = {op.name for op in TABLE.values()} | {f"aten::{name}" for name in OPERATORS}
    costly = set()
    for name in sorted(names):
        for count in (1, 2, 3, 9):
            for each in cost(name, [x] * count, [x], spec):
                costly.add(name)
                assert each.duration_ns > 0
                assert min(*each.grid, *each.block, each.registers) > 0
                assert each.block[0] * each.block[1] <= spec.max_threads_per_block
                assert each.name
                assert "{" not in each.name.replace("{lambda", "")
                assert 0 < occupancy(each, spec)[0] <= 1
    assert {"aten::add", "aten::mm", "aten::sum", "aten::_foreach_add_"} <= costly


def test_occupancy_is_what_a_trace_says_of_the_same_kernels() -> None:
    """Of a V100 and an H100, from traces of Kineto and TraceLens: the worked-out percentages."""
    for key, grid, block, registers, blocks_per_sm, percent in (
        ("v100", (13, 1, 1), (256, 1, 1), 38, 0.1625, 2),
        ("v100", (25088, 1, 1), (64, 1, 1), 18, 313.6, 100),
        ("v100", (64, 1, 1), (512, 1, 1), 32, 0.8, 20),
        ("h100", (564, 1, 1), (128, 1, 1), 32, 4.272727, 27),
        ("h100", (141, 1, 1), (32, 4, 1), 34, 1.068182, 7),
    ):
        found = KernelPlan("k", 1, 0, 0, grid, block, registers, 0)
        part, blocks = occupancy(found, find_spec(key))
        assert blocks == pytest.approx(blocks_per_sm, abs=1e-5)
        assert round(part * 100) == percent


@EVERY
@pytest.mark.parametrize(
    "kind", ["HtoD pageable", "HtoD pinned", "DtoH pageable", "DtoH pinned", "DtoD", "PtoP"]
)
def test_copies_have_a_latency_and_a_bandwidth(kind: str, spec: DeviceSpec) -> None:
    times = [copy_ns(nbytes, kind, spec) for nbytes in (0, 4, 1 << 20, 1 << 30)]
    assert times == sorted(times)
    assert times[0] > 0
    assert times[3] > 100 * times[0]


@EVERY
def test_copies_are_as_fast_as_what_they_go_over(spec: DeviceSpec) -> None:
    size = 1 << 28
    assert copy_ns(size, "DtoD", spec) < copy_ns(size, "HtoD pinned", spec)
    assert copy_ns(size, "HtoD pinned", spec) < copy_ns(size, "HtoD pageable", spec)
    assert memset_ns(size, spec) < copy_ns(size, "DtoD", spec)


def test_a_copy_of_no_known_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="HtoD pinned"):
        copy_ns(4, "sideways", find_spec("t4"))
