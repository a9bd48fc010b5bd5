"""TDY402: a GPU that idles while its next kernels are launched, by the cause of idle time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import tidy
from tidy import Severity
from tidy.finding import Checked, NotChecked
from tidy.patterns.examples import AT, FRAME, launch, on_gpu, steps, under
from tidy.trace.outline import parse_outline

from ..conftest import ReadEvents
from ..oracle.shared import decoded, findings, path_of
from ..trace.kineto import Written, call, kernel, mark, op

_STEP_US = 40_000
_LAUNCH_US, _OP_US = 8, 20


def _steps(
    kernel_us: float, gap_us: float, kernels: int = 30, *, op_us: float = _OP_US
) -> list[Written]:
    """Three steps of ops that launch a kernel each; `gap_us` from the end of one op to the next."""
    written: list[Written] = []
    for step in range(3):
        ts, each_us = float(step * _STEP_US), op_us + gap_us
        written.append(mark(f"ProfilerStep#{step}", ts, kernels * each_us))
        for at in range(kernels):
            number, start = 1000 * step + at + 1, ts + at * each_us
            written += [
                op("aten::add", start, op_us, args={"External id": number}),
                call("cudaLaunchKernel", start + 2, _LAUNCH_US, number, external=number),
                kernel("elementwise", start + 2 + _LAUNCH_US, kernel_us, correlation=number),
            ]
    return written


def _said(read_events: ReadEvents, written: list[Written]) -> int:
    """How many launches the finding counts, 0 without one."""
    found = tidy.check(read_events(written), select=["TDY402"]).findings
    assert all(finding.severity == Severity.WARNING for finding in found)
    return sum(finding.count for finding in found)


def test_ops_one_after_the_other(read_events: ReadEvents) -> None:
    assert _said(read_events, _steps(kernel_us=3, gap_us=1)) == 90


def test_what_is_idle_because_of_launches_is_its_cost(read_events: ReadEvents) -> None:
    """A kernel of 3 us begins 10 us into an op of 20 us: 17 of 21 us are launching, 1 is Python."""
    written = _with_another_kernel(_steps(3, 1))
    (found,) = tidy.check(read_events(written), select=["TDY402"]).findings
    # Not all of it is lost: before the first launch and after the last the device idles anyway.
    assert 16 / 21 <= found.cost_share <= 17 / 21
    assert "81%" in found.message
    assert "30 kernels a step" in found.message


def _with_another_kernel(written: list[Written]) -> list[Written]:
    """The same steps, but for one kernel of the second."""
    last = [e for e in written if e["name"] == "elementwise"][-31]
    return [e | {"name": "reduce"} if e is last else e for e in written]


# -- steps that one graph could launch ------------------------------------------------------------


def test_steps_that_launch_the_same_can_be_captured(read_events: ReadEvents) -> None:
    """30 kernels of 3 us are left of 630 us, back to back; then Python between them counts too."""
    (found,) = tidy.check(read_events(_steps(3, 1)), select=["TDY402"]).findings
    assert 17 / 21 <= found.cost_share <= 18 / 21
    assert "the same in each" in found.message
    assert found.fix.startswith("capture the step in a CUDA graph")
    assert found.saving is not None
    low_ns, high_ns = found.saving.step_ns_after
    assert 90_000 <= low_ns < high_ns < 0.4 * 630_000


@pytest.mark.parametrize(("delayed", "is_captured"), [({1}, True), ({0, 1, 2}, False)])
def test_an_accident_keeps_no_step_out_of_a_graph(
    read_events: ReadEvents, delayed: set[int], is_captured: bool
) -> None:
    """For 2 ms the host is elsewhere, between two ops of these steps; no graph saves that."""
    written = _steps(3, 1)
    for event in written:
        step, since = divmod(event["ts"], _STEP_US)
        if step in delayed and event["name"].startswith("ProfilerStep"):
            event["dur"] += 2000
        elif step in delayed and since >= 15 * 21:
            event["ts"] += 2000
    (found,) = tidy.check(read_events(written), select=["TDY402"]).findings
    assert ("the same in each" in found.message) == is_captured
    if is_captured:
        assert found.saving is not None
        low_ns, _ = found.saving.step_ns_after
        assert low_ns >= 90_000 + 2_000_000 / 3


def _with_a_wait(written: list[Written]) -> list[Written]:
    add = [e for e in written if e["name"] == "aten::add"][40]
    return [*written, call("cudaStreamSynchronize", add["ts"] + 12, 1, 5000)]


def _with_a_batch(written: list[Written]) -> list[Written]:
    """Each step fetches a batch between its launches."""
    fetch = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    adds = [e for e in written if e["name"] == "aten::add"]
    return [*written, *(mark(fetch, e["ts"] - 80, 79) for e in adds[15::30])]


def _with_other_sizes(written: list[Written]) -> list[Written]:
    adds = [e for e in written if e["name"] == "aten::add"]
    for number, add in enumerate(adds):
        add["args"] |= {"Input Dims": [[1 + number // 30, 64]], "Input type": ["float"]}
    return written


@pytest.mark.parametrize(
    "written",
    [
        _with_another_kernel(_steps(3, 1)),
        _with_a_wait(_steps(3, 1)),
        _with_a_batch(_steps(3, 90, op_us=100)),
        _with_other_sizes(_steps(3, 1)),
        [e for e in _steps(3, 1) if e["ts"] < 2 * _STEP_US],
    ],
    ids=["another kernel", "a wait", "a batch", "a growing input", "two steps"],
)
def test_steps_that_cannot_be_captured(read_events: ReadEvents, written: list[Written]) -> None:
    (found,) = tidy.check(read_events(written), select=["TDY402"]).findings
    assert "the same in each" not in found.message
    assert not found.fix.startswith("capture")


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (_steps(kernel_us=19, gap_us=1), "the GPU is busy"),
        (_steps(kernel_us=3, gap_us=1, kernels=9), "few kernels"),
        (_steps(kernel_us=3, gap_us=150), "Python is what it waits for"),
        (_steps(kernel_us=3, gap_us=1, op_us=900), "such ops do something else than to launch"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_others(read_events: ReadEvents, written: list[Written], why: str) -> None:
    assert _said(read_events, written) == 0, why


@pytest.mark.parametrize(
    "name", ["cudaStreamSynchronize", "hipMemcpyAsync", "cudaMalloc", "enumerate(DataLoader)#X"]
)
def test_gaps_that_something_else_explains(read_events: ReadEvents, name: str) -> None:
    """After each op the host does something else for most of the time."""
    written = _steps(kernel_us=3, gap_us=180)
    made = mark if name.startswith("enumerate") else call
    for number, add in enumerate([e for e in written if e["name"] == "aten::add"]):
        other: tuple[Any, ...] = () if made is mark else (5000 + number,)
        written.append(made(name, add["ts"] + _OP_US, 179, *other))
    assert _said(read_events, written) == 0


def test_what_follows_a_wait_is_the_waits(read_events: ReadEvents) -> None:
    """The host waits for the kernel as long as it takes to launch the next: that is TDY302's."""
    written = _steps(kernel_us=40, gap_us=60)
    for number, add in enumerate([e for e in written if e["name"] == "aten::add"]):
        written.append(call("cudaStreamSynchronize", add["ts"] + _OP_US, 40, 5000 + number))
    idle = 1 - 40 / 80
    assert idle > 0.15
    assert _said(read_events, written) == 0


def _graphs(kernels: int) -> list[Written]:
    """Three launches of graphs, of which so many kernels each were recorded."""
    written = []
    for at in range(3):
        number, ts = 9000 + at, 3900 + 10.0 * at
        written.append(call("cudaGraphLaunch", ts, 8, number))
        written += [
            kernel("node", ts + 9 + 0.1 * k, 0.1, correlation=number) for k in range(kernels)
        ]
    return written


def test_kernels_that_graphs_lost_are_not_judged(read_events: ReadEvents) -> None:
    trace = read_events([*_steps(3, 1), *_graphs(kernels=0)])
    outcome = tidy.check(trace).outcomes["TDY402"]
    assert isinstance(outcome, NotChecked)
    assert "graphs" in outcome.reason


def test_graphs_that_were_recorded_are(read_events: ReadEvents) -> None:
    assert _said(read_events, [*_steps(3, 1), *_graphs(kernels=5)]) == 90


def test_a_run_that_is_judged(read_events: ReadEvents) -> None:
    outcome = tidy.check(read_events(_steps(19, 1))).outcomes["TDY402"]
    assert outcome == Checked()


def test_without_steps_it_is_of_the_run(read_events: ReadEvents) -> None:
    written = [e for e in _steps(3, 1)[:90] if not e["name"].startswith("ProfilerStep")]
    (found,) = tidy.check(read_events(written), select=["TDY402"]).findings
    assert "a step" not in found.message


# -- tokens that are decoded one after the other --------------------------------------------------


def _attention(queries: Iterable[int], keys: Iterable[int]) -> list[Written]:
    """The steps above with an attention in each, in turn with so many queries and keys."""
    written = _steps(3, 1)
    adds = [e for e in written if e["name"] == "aten::add"]
    for add, asks, asked in zip(adds, queries, keys, strict=False):
        dims = [[1, 8, asks, 64], [1, 8, asked, 64], [1, 8, asked, 64]]
        add["name"] = "aten::scaled_dot_product_attention"
        add["args"]["Input Dims"], add["args"]["Input type"] = dims, ["c10::Half"] * 3
    return written


@pytest.mark.parametrize(
    ("queries", "keys", "decodes"),
    [
        ([1] * 90, range(12, 102), True),
        ([1] * 90, [50] * 90, False),  # a vector that gathers the others, in each layer
        ([1] * 30 + [50] * 60, [*range(20, 50), *[50] * 60], False),
        ([1] * 90, range(10, 190, 2), False),
        ([16] * 90, range(16, 106), False),
    ],
    ids=["one-by-one", "gathers", "a-few-layers", "sequences-that-differ", "a-batch-of-tokens"],
)
def test_decoding_by_eager_operators(
    read_events: ReadEvents, queries: Iterable[int], keys: Iterable[int], decodes: bool
) -> None:
    (found,) = tidy.check(read_events(_attention(queries, keys)), select=["TDY402"]).findings
    assert ("one token" in found.message) is decodes
    assert ("KV cache" in found.fix) is decodes


def test_what_is_compiled_already(read_events: ReadEvents) -> None:
    written = [*_steps(3, 1), op("Torch-Compiled Region: 0/0", 0, 19)]
    (found,) = tidy.check(read_events(written), select=["TDY402"]).findings
    assert found.fix.startswith("torch.compile(mode=")


_REGION, _GRAPH = "Torch-Compiled Region: 0/0", "## Call CompiledFxGraph f9a ##"
_TRITON = launch("triton_poi_0 9us | float[{n}, 64]", "triton_poi_0 1us", call="cuLaunchKernel 5us")
_READ = launch("aten::item", "Memcpy DtoH (Device -> Pageable) 1us 4B", call="cudaMemcpyAsync")


@pytest.mark.parametrize(
    ("parts", "fix"),
    [
        (lambda _: [_TRITON] * 20, 'torch.compile(mode="reduce-overhead")'),
        (lambda step: [_TRITON.replace("{n}", str(step))] * 20, "inputs of few sizes"),
        (lambda _: [*[_TRITON] * 20, _READ], "take reads and copies"),
    ],
    ids=["the-same-each-time", "of-other-sizes", "with-a-read"],
)
def test_how_compiled_code_comes_to_use_graphs(parts: Callable[[int], list[str]], fix: str) -> None:
    regions = (under(f"{_REGION} > {_GRAPH}", *parts(n)).replace("{n}", "8") for n in (1, 2, 3))
    marked = (under(f"ProfilerStep#{n}", each) for n, each in enumerate(regions, 1))
    (found,) = _of_outline(on_gpu(*marked, frame=FRAME))
    assert "20 kernels a step are launched one by one by compiled code" in found.message
    assert str(found.location) == AT
    assert found.fix.startswith(fix)


def test_what_an_optimizer_has_compiled_is_not_the_optimizers() -> None:
    step, kernel = "Optimizer.step#Muon.step", _TRITON.replace("{n}", "8")
    (found,) = _of_outline(on_gpu(steps(under(step, under(_REGION, *[kernel] * 20)))))
    assert "by compiled code" in found.message
    assert not _of_outline(on_gpu(steps(under(step, *[kernel] * 20))))


# -- kernels that are always late -----------------------------------------------------------------

_ADAM = "void (anonymous namespace)::fused_adam_kernel<float, 4>(int, float*) 2us"
_ADAM_OP = under("aten::adam", "aten::empty 80us", launch("aten::adam_", _ADAM))
_LATE = launch("aten::add 9us", "add_kernel 9us") * 12 + _ADAM_OP


def test_a_kernel_that_most_of_the_time_lies_before() -> None:
    (found,) = _of_outline(on_gpu(steps(_LATE, lasts_us=None)))
    assert found.message.endswith(" us before fused_adam_kernel")
    part, whole = map(float, re.findall(r"([\d.]+) of ([\d.]+) us before", found.message)[0])
    assert 0.8 * whole < part < 90


def test_an_operator_that_most_of_the_time_lies_before() -> None:
    kernels = (_LATE.replace("fused_adam", f"adam_{n}") for n in range(3))
    (found,) = _of_outline(on_gpu(steps(*kernels, lasts_us=None)))
    assert found.message.endswith(" us before aten::adam_")


def test_many_kernels_that_are_late() -> None:
    (found,) = _of_outline(on_gpu(steps(_ADAM_OP * 12, lasts_us=None)))
    assert "before" not in found.message


def _of_outline(outline: str) -> list[tidy.Finding]:
    return list(tidy.check(parse_outline(outline), select=["TDY402"]).findings)


# -- recorded runs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hta__history__with_gpu_user_annotation_step_based_trace_2543932", True),
        ("hta__nccl_parser_config__nccl_data", True),
        ("misc__particle_transformer__hmoss-6a49xb_1981897", True),
        ("misc__sidnb13", True),
        ("param__linear_kineto", True),
        ("tracelens__h100__gaunernst_bert-small-uncased", True),
        ("tracelens__mi300__Falconsai_nsfw_image_detection", True),
        ("tracelens__mi300__gaunernst_bert-small-uncased", True),
        ("hta__critical_path__alexnet", False),  # first calls, tens of milliseconds each
        ("hta__trace_filter__sampled_rank-0", False),  # thinned out
        ("kineto__resnet50_num_workers_0", False),
        ("kineto__resnet50_num_workers_4", False),
        ("tracelens__h100__Qwen_Qwen1.5-0.5B-Chat", False),
        ("tracelens__h100__facebook_timesformer", False),
        ("tracelens__mi300__resnet_act_checkpoint", False),
    ],
)
def test_recorded_runs(name: str, said: bool) -> None:
    """Where it is said, devices idle for a fifth of the time at least, in gaps below 0.2 ms."""
    path = path_of(name)
    found = findings(path, "TDY402")
    assert [f.severity for f in found] == [Severity.WARNING] * said
    if said:
        assert _idle_share(decoded(path)["traceEvents"]) > 0.2


def _idle_share(events: list[dict[str, Any]]) -> float:
    """The part of the time from the first kernel to the last in which none runs, in short gaps."""
    works = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")
    work = sorted(
        (e["ts"], e["ts"] + e["dur"])
        for e in events
        if e.get("ph") == "X" and str(e.get("cat")).lower() in works
    )
    (first, until), idle = work[0], 0.0
    for start, end in work:
        idle += start - until if 0 < start - until < 200 else 0
        until = max(until, end)
    return idle / (until - first)


def test_where_graphs_are_launched_it_does_not_ask_for_graphs(read_events: ReadEvents) -> None:
    in_a_step = [each | {"ts": each["ts"] - 3_700} for each in _graphs(kernels=5)]
    in_a_step = [
        each | {"tid": 77} if each["cat"] == "cuda_runtime" else each for each in in_a_step
    ]
    trace = read_events([*_with_another_kernel(_steps(3, 1)), *in_a_step])
    (found,) = tidy.check(trace, select=["TDY402"]).findings
    assert "30 kernels a step are launched one by one beside graphs" in found.message
    assert "reduce-overhead" not in found.fix
