"""What a trace can tell: capabilities, devices, rank."""

from __future__ import annotations

from typing import Any

import pytest

import tidy
from tidy.trace import Capability, DeviceProperties, TraceInfo
from tidy.trace.outline import parse_outline

from ..conftest import ReadEvents
from .kineto import Written, call, frame, kernel, mark, op, span

_MEMORY = {
    "ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 5, "s": "t",
    "args": {"Bytes": -64, "Device Type": 1, "Device Id": 2, "Total Allocated": 0},
}  # fmt: skip


@pytest.mark.parametrize(
    ("events", "held"),
    [
        ([op("aten::mm", 0, 5)], {Capability.OPS}),
        (
            [op("aten::mm", 0, 5, args={"Input Dims": [[2, 3]]})],
            {Capability.OPS, Capability.SHAPES},
        ),
        ([op("aten::mm", 0, 5, args={"Input Dims": [[]]})], {Capability.OPS}),
        ([op("aten::mm", 0, 5, args={"Input dims": [[2]]})], {Capability.OPS, Capability.SHAPES}),
        ([frame("train.py(3): train", 0, 5)], {Capability.STACKS}),
        (
            [op("aten::mm", 0, 5, args={"Call stack": "train.py(3): train"})],
            {Capability.OPS, Capability.STACKS},
        ),
        ([kernel("gemm", 0, 5)], {Capability.DEVICE}),
        ([span("gpu_user_annotation", "ProfilerStep#1", 0, 5, pid=0, tid=7)], set()),
        ([mark("ProfilerStep#1", 0, 5)], {Capability.STEPS}),
        ([op("aten::mm", 0, 5), _MEMORY], {Capability.OPS, Capability.MEMORY}),
    ],
)
def test_what_was_recorded(
    read_events: ReadEvents, events: list[Written], held: set[Capability]
) -> None:
    assert read_events(events).capabilities == held


def test_every_capability_says_how_to_record_it() -> None:
    remedies = [TraceInfo().remedy(each) for each in Capability]
    assert all("record" in each and "\n" not in each for each in remedies)
    assert all(each.label and each.option for each in Capability)
    both = TraceInfo().remedy(Capability.SHAPES, Capability.STACKS)
    assert both == "record with record_shapes=True and with_stack=True"


def test_freed_memory_is_negative(read_events: ReadEvents) -> None:
    trace = read_events([op("aten::mm", 0, 9), _MEMORY])
    (freed,) = trace.named("[memory]")
    assert (freed.nbytes, freed.device, freed.start_ns) == (-64, 2, 5000)


_NVIDIA_A100 = DeviceProperties(0, "NVIDIA A100", "nvidia", (8, 0), 40)
_A100 = {"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0, "totalGlobalMem": 40}
_MI300 = {"id": 0, "name": "AMD Instinct", "computeMajor": 9, "computeMinor": 4}
_NAMELESS = {"id": 0, "name": "", "computeMajor": 9, "computeMinor": 0, "warpSize": 64}


@pytest.mark.parametrize(
    ("header", "name_of_call", "expected"),
    [
        ({"deviceProperties": [_A100]}, "cudaLaunchKernel", _NVIDIA_A100),
        (
            {"deviceProperties": [_MI300]},
            "hipLaunchKernel",
            DeviceProperties(0, "AMD Instinct", "amd"),
        ),
        ({"deviceProperties": [_NAMELESS]}, "cudaLaunchKernel", DeviceProperties(0, "", "amd")),
        (
            {"deviceProperties": [_A100], "hip_runtime_version": 1},
            "launch",
            DeviceProperties(0, "NVIDIA A100", "amd", None, 40),
        ),
        ({}, "cudaLaunchKernel", DeviceProperties(0, "", "nvidia")),
        ({}, "hipLaunchKernel", DeviceProperties(0, "", "amd")),
        ({}, "launch", DeviceProperties(0, "", "unknown")),
    ],
)  # fmt: skip
def test_whose_device_it_is(
    read_events: ReadEvents, header: dict[str, Any], name_of_call: str, expected: DeviceProperties
) -> None:
    events = [call(name_of_call, 0, 1, correlation=1), kernel("gemm", 5, 5, correlation=1)]
    trace = read_events(events, **header)
    assert trace.devices[0] == expected


def test_devices_that_did_nothing_are_listed_but_not_used(read_events: ReadEvents) -> None:
    devices = [{**_A100, "id": index} for index in range(4)]
    trace = read_events([kernel("gemm", 5, 5, device=2)], deviceProperties=devices)
    assert (sorted(trace.devices), trace.devices_used) == ([0, 1, 2, 3], (2,))


@pytest.mark.parametrize(
    ("header", "is_cpu_run"),
    [({"deviceProperties": []}, True), ({"deviceProperties": [_A100]}, False), ({}, False)],
)
def test_a_cpu_run_is_one_whose_profiler_found_no_device(
    read_events: ReadEvents, header: dict[str, Any], is_cpu_run: bool
) -> None:
    assert read_events([op("aten::mm", 0, 5)], **header).is_cpu_run == is_cpu_run


def test_work_on_a_device_is_no_cpu_run(read_events: ReadEvents) -> None:
    assert not read_events([kernel("gemm", 5, 5)], deviceProperties=[]).is_cpu_run


def test_rank_and_options_of_the_header() -> None:
    info = TraceInfo("t", {"distributedInfo": {"rank": 3, "world_size": 8}, "with_stack": 1})
    assert (info.rank, info.world_size) == (3, 8)
    assert info.flag("with_stack")
    assert not info.flag("record_shapes")
    odd = TraceInfo("t", {"distributedInfo": [], "record_shapes": 0})
    assert (odd.rank, odd.world_size, odd.flag("record_shapes")) == (None, None, False)


def test_inputs_are_decoded_as_written(read_events: ReadEvents) -> None:
    args = {
        "Input Dims": [[4, 3], [], [[2], [2, 1]], []],
        "Input type": ["float", "Scalar", "TensorList", ""],
        "Concrete Inputs": ["", "1", "", ""],
        "Input Strides": [[3, 1], [], [[1], [1, 1]], []],
    }
    trace = read_events([op("aten::cat", 0, 5, args=args), op("aten::mm", 10, 5)])
    cat, mm = trace.dfs()
    assert cat.input_shapes == ((4, 3), (), ((2,), (2, 1)), ())
    assert cat.input_dtypes == ("float", "Scalar", "TensorList", "")
    assert cat.concrete_inputs == ("", "1", "", "")
    assert cat.input_strides == ((3, 1), (), ((1,), (1, 1)), ())
    assert mm.input_shapes == mm.input_dtypes == mm.concrete_inputs == ()


def test_a_trace_says_what_it_is() -> None:
    trace = parse_outline("ProfilerStep#1\n  aten::mm")
    assert repr(trace) == "<Trace 'outline': 2 events, 1 steps>"
    assert repr(trace.event(1)) == "<TorchOp 'aten::mm' 1.000+1.000 us>"


def _allocated(device_type: int, device: int = -1) -> Written:
    args = {"Bytes": 64, "Addr": 7, "Device Type": device_type, "Device Id": device}
    return {**_MEMORY, "args": {**args, "Total Allocated": 64}}


@pytest.mark.parametrize(
    ("events", "is_cpu_run"),
    [
        ([op("aten::mkldnn_convolution", 0, 5)], True),
        ([op("aten::_nnpack_spatial_convolution", 0, 5)], True),
        ([op("aten::mm", 0, 9), _allocated(0), _allocated(0)], True),
        ([op("aten::mm", 0, 9), _allocated(0), _allocated(1, 0)], False),
        ([op("aten::_scaled_dot_product_flash_attention_for_cpu", 0, 5)], True),
        ([op("aten::mkldnn_convolution", 0, 5), call("cudaLaunchKernel", 6, 1, 1)], False),
        ([op("aten::mkldnn_convolution", 0, 5), call("cudaDeviceSynchronize", 6, 1, 1)], True),
        ([op("aten::mm", 0, 9), _allocated(0), call("cudaDeviceSynchronize", 6, 1, 1)], True),
        ([op("aten::mm", 0, 9), call("cudaDeviceSynchronize", 6, 1, 1)], True),
        ([op("aten::mm", 0, 9), call("cudaMemcpyAsync", 6, 1, 1)], False),
        ([op("aten::mkldnn_convolution", 0, 5), op("aten::cudnn_convolution", 6, 5)], False),
        ([op("aten::mkldnn_linear", 0, 5), op("aten::cudnn_is_acceptable", 6, 5)], True),
    ],
)
def test_ops_and_memory_tell_where_nothing_else_does(
    read_events: ReadEvents, events: list[Written], is_cpu_run: bool
) -> None:
    """As in files of old releases, which do not list the devices, and on machines with a GPU."""
    assert read_events(events).is_cpu_run == is_cpu_run
    assert read_events(events, deviceProperties=[_A100]).is_cpu_run == is_cpu_run


def test_memory_of_a_gpu_tells_that_one_took_part(read_events: ReadEvents) -> None:
    trace = read_events([op("aten::mm", 0, 9), _allocated(1, 0)], deviceProperties=[])
    assert not trace.is_cpu_run


def test_an_op_of_a_gpu_tells_that_one_took_part_and_was_not_recorded(
    read_events: ReadEvents,
) -> None:
    """Windows without CUPTI lists no device."""
    trace = read_events([op("aten::cudnn_convolution", 0, 5)], deviceProperties=[])
    assert not trace.is_cpu_run
    unchecked = tidy.check(trace, select=["TDY402"]).not_checked
    assert "no device activity" in unchecked["TDY402"].reason
