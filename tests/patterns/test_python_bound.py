"""TDY401 and TDY407: what the next kernel waits for that is neither a launch nor a loader."""

from __future__ import annotations

import pytest

import tidy
from tidy import Finding, Severity
from tidy.finding import NotChecked
from tidy.patterns.examples import launch, on_gpu, steps
from tidy.trace.outline import parse_outline

from ..conftest import ReadEvents
from ..oracle.shared import findings, path_of, report
from ..trace.kineto import Written, call, frame, kernel, mark, op, span

_STEP_US = 5_100
_COUNT, _TOKENIZE = "train.py(3): count", "train.py(3): tokenize"


def _steps(*between: Written, count: int = 4, kernel_us: float = 50) -> list[Written]:
    """Steps of two products 5 ms apart; what stands between them is timed from its step."""
    written: list[Written] = []
    for step in range(count):
        ts = float(step * _STEP_US)
        written.append(mark(f"ProfilerStep#{step}", ts, _STEP_US - 10))
        for at, begins in enumerate((10.0, 5010.0)):
            number = 2 * step + at + 1
            written += [
                op("aten::mm", ts + begins, 30, args={"External id": number}),
                call("cudaLaunchKernel", ts + begins + 5, 8, number, external=number),
                kernel("gemm", ts + begins + 15, kernel_us, correlation=number),
            ]
        written += [each | {"ts": ts + each["ts"]} for each in between]
    return written


def _found(read_events: ReadEvents, written: list[Written], *codes: str) -> list[Finding]:
    wanted = codes or ("TDY401", "TDY407")
    return list(tidy.check(read_events(written), select=wanted).findings)


def test_python_is_named_by_its_function(read_events: ReadEvents) -> None:
    (found,) = _found(read_events, _steps(frame(_COUNT, 100, 4900)), "TDY401")
    assert str(found.location) == "train.py:3"
    assert found.count == 4
    assert found.severity == Severity.WARNING
    assert found.saving is not None
    # From the end of the first kernel, at 75 us, to the next product, at 5,010, of 5,090 us.
    assert found.cost_share == pytest.approx(4935 / 5090, abs=0.001)
    assert "for Python in count" in found.message


@pytest.mark.parametrize(
    ("header", "severity"),
    [
        ({"tidy_queued_share": 0.97}, Severity.INFO),
        ({"tidy_queued_share": 12}, Severity.INFO),
        ({"tidy_queued_share": 0.5}, Severity.WARNING),
        ({"tidy_queued_share": "much"}, Severity.WARNING),
        ({"tidy_queued_share": 0.97, "tidy_times": "light"}, Severity.WARNING),
        (
            {"tidy_queued_share": 0.97, "tidy_times": "light", "tidy_times_hold_waits": True},
            Severity.INFO,
        ),
    ],
)
def test_threads_that_waited_for_a_processor(
    read_events: ReadEvents, header: dict[str, object], severity: Severity
) -> None:
    """What seems to be Python then is mostly what else the machine does."""
    trace = read_events(_steps(frame(_COUNT, 100, 4900)), **header)
    (found,) = tidy.check(trace, select=["TDY401"]).findings
    assert found.severity == severity
    assert ("waited for a processor" in found.message) == (severity == Severity.INFO)


def test_a_collective_of_another_thread_is_not_python(read_events: ReadEvents) -> None:
    """Gloo's ends just before the host goes on."""
    gloo = span("user_annotation", "gloo:all_reduce", 150, 4800, pid=1, tid=9)
    assert _found(read_events, _steps())
    assert not _found(read_events, _steps(gloo))


def test_inputs_that_are_prepared_are_another_rules(read_events: ReadEvents) -> None:
    (found,) = _found(read_events, _steps(frame(_TOKENIZE, 100, 4900)))[:1]
    assert found.code == "TDY407"
    assert str(found.location) == "train.py:3"
    assert "tokenize on the CPU" in found.message


@pytest.mark.parametrize(
    "name",
    [
        "transformers/models/vit/image_processing_vit.py(150): preprocess",
        "/usr/lib/python3/site-packages/PIL/Image.py(2217): resize",
        "torchvision/transforms/functional.py(470): resize",
        "<built-in method encode_batch of tokenizers.Tokenizer object at 0x7f5c13849>",
        "<built-in method decode of ImagingDecoder object at 0x7f5c138490d0>",
    ],
)
def test_libraries_that_prepare_inputs(read_events: ReadEvents, name: str) -> None:
    written = _steps(frame("train.py(7): train", 90, 4915), frame(name, 100, 4900))
    (found,) = _found(read_events, written, "TDY407")
    assert str(found.location) == "train.py:7"


@pytest.mark.parametrize(
    "name",
    [
        "train.py(3): normalize_loss",
        "train.py(3): encode",  # of a model
        "torch/nn/modules/module.py(1501): _call_impl",
        "<built-in method encode of str object at 0x7f5c138490d0>",
        "<built-in method item of Tensor object at 0x7f5c138490d0>",
    ],
)
def test_functions_that_only_sound_so(read_events: ReadEvents, name: str) -> None:
    assert _found(read_events, _steps(frame(name, 100, 4900)), "TDY407") == []


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (_steps(frame(_COUNT, 100, 4900), kernel_us=4990), "the GPU works meanwhile"),
        (
            _steps(
                frame("<built-in method acquire of _thread.lock object at 0x7>", 100, 4900),
            ),
            "another thread is waited for",
        ),
        (
            _steps(mark("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 100, 4900)),
            "",
        ),
        (_steps(call("cudaMalloc", 100, 4900, 777)), "memory is asked for"),
    ],
    ids=["hidden", "waits", "a-loader", "the-allocator"],
)
def test_quiet(read_events: ReadEvents, written: list[Written], why: str) -> None:
    found = _found(read_events, written)
    assert found == [], why


def test_what_takes_long_in_one_step_alone(read_events: ReadEvents) -> None:
    """The end of a recording, a checkpoint: it happens once."""
    written = _steps(count=6)
    busy = [
        kernel("gemm", e["ts"] + 20, 4900, correlation=e["args"]["correlation"])
        for e in written
        if e["name"] == "cudaLaunchKernel"
    ]
    written = [e for e in written if e["cat"] != "kernel"] + busy
    once = frame(_COUNT, 6 * _STEP_US - 50, 5000)
    written = [e | {"dur": 2 * _STEP_US} if e["name"] == "ProfilerStep#5" else e for e in written]
    assert _found(read_events, [*written, once], "TDY401") == []


def test_operators_on_the_cpu(read_events: ReadEvents) -> None:
    written = _steps(frame("train.py(7): train", 90, 4915), op("aten::sort", 100, 4900))
    (found,) = _found(read_events, written, "TDY407")
    assert "aten::sort on the CPU" in found.message
    assert _found(read_events, _steps(op("aten::sort", 100, 4900), count=1), "TDY407") == []


def test_a_run_without_a_gpu(read_events: ReadEvents) -> None:
    """There Python that takes long at a time is named, and short ways between operators are not."""
    written = [
        e for e in _steps(frame(_COUNT, 100, 4800)) if e["cat"] not in ("kernel", "cuda_runtime")
    ]
    (found,) = tidy.check(read_events(written, deviceProperties=[]), select=["TDY401"]).findings
    assert str(found.location) == "train.py:3"
    # From the end of the product, at 40 us, to the next one, at 5,010.
    assert "the step waits 4.97 ms a step" in found.message


@pytest.mark.parametrize("loading", [True, False])
def test_a_loader_of_a_run_without_a_gpu(read_events: ReadEvents, loading: bool) -> None:
    fetch = mark("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 95, 4880)
    written = _steps(*[fetch] * loading, frame(_TOKENIZE, 100, 4800))
    written = [e for e in written if e["cat"] not in ("kernel", "cuda_runtime")]
    report = tidy.check(read_events(written, deviceProperties=[]), select=["TDY401", "TDY407"])
    assert [f.code for f in report.findings] == ["TDY407"] * (not loading)


def test_the_video_model_waits_for_its_processor() -> None:
    """218 of 383 ms, says the index of the recorded traces."""
    (found,) = findings(path_of("tracelens__h100__facebook_timesformer"), "TDY407")
    assert found.cost_ns == pytest.approx(218e6, rel=0.02)
    assert "preprocess" in found.message
    assert found.severity == Severity.WARNING


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("kineto__resnet50_num_workers_4", set()),  # its last step ends with 80 ms of nothing
        ("kineto__resnet50_num_workers_0", set()),
        ("hta__triton_example", set()),  # one kernel
        ("hta__execution_trace__benchmark_simple_add_trace", set()),
        ("tracelens__h100__facebook_timesformer", {"TDY407"}),
        ("misc__particle_transformer__hmoss-6a49xb_1981897", {"TDY401"}),
        ("ddp_gloo_rank0", set()),  # it waits for the other, which sleeps
        ("ddp_gloo_rank1", {"TDY401"}),
    ],
)
def test_recorded_runs(name: str, codes: set[str]) -> None:
    path = path_of(name)
    assert {c for c in ("TDY401", "TDY407") if findings(path, c)} == codes


@pytest.mark.parametrize(
    "name", ["hta__trace_filter__sampled_rank-0", "hta__negative_queue_length__rank0"]
)
def test_where_idle_time_is_not_known(name: str) -> None:
    """The one was thinned out before it was published, the other lacks kernels of its graphs."""
    for code in ("TDY401", "TDY402", "TDY407"):
        assert isinstance(report(path_of(name)).outcomes[code], NotChecked)


@pytest.mark.parametrize("header", [{}, {"tidy_times": "unrecorded"}])
def test_stacks_slow_the_host_unless_its_times_are_others(
    read_events: ReadEvents, header: dict[str, str]
) -> None:
    """Steps of 30 operators, 20 us of Python after each, in a function that was recorded."""
    written: list[Written] = []
    for step in range(4):
        ts = float(step * 2_000)
        written += [mark(f"ProfilerStep#{step}", ts, 1_200), frame("train.py(3): train", ts, 1_200)]
        for at in range(30):
            number, start = 100 * step + at + 1, ts + 40 * at
            written += [
                op("aten::mm", start, 20, args={"External id": number}),
                call("cudaLaunchKernel", start + 5, 8, number, external=number),
                kernel("gemm", start + 13, 7, correlation=number),
            ]
    (found,) = tidy.check(read_events(written, **header), select=["TDY401"]).findings
    assert ("with Python stacks recorded" in found.message) == (not header)
    assert (found.saving is None) == (not header)


def test_a_line_that_was_recorded_is_where_it_is(read_events: ReadEvents) -> None:
    """And not where the next operator is."""
    line = frame("train.py(12): <module>", 100, 4800) | {
        "args": {"Call stack": "train.py(12): <module>"}
    }
    written = [frame("train.py(1): <module>", 0, 4 * _STEP_US), *_steps(line)]
    for each in written:
        if each["name"] == "aten::mm":
            each["args"]["Call stack"] = "train.py(7): <module>"
    (found,) = _found(read_events, written, "TDY401")
    assert str(found.location) == "train.py:12"


def test_a_kernel_that_python_is_always_late_for() -> None:
    adds, late = launch("aten::add 9us", "add_kernel 9us") * 12, launch("aten::mm", "gemm 2us")
    outline = on_gpu(steps(adds, "work 80us", late, lasts_us=None))
    (found,) = tidy.check(parse_outline(outline), select=["TDY401"]).findings
    assert found.message.endswith(" us before gemm")
