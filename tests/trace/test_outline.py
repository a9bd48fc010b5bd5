"""An outline gives the trace that its text describes."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidy.trace import EventKind, Trace
from tidy.trace.outline import parse_outline

_NAMES = ("aten::mm", "train.py(3): train", "nn.Module: Linear_0", "ProfilerStep#1", "my range (2)")
# A forest as its depths, depth-first: none is deeper than one below the line before.
_LINES = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(_NAMES), st.none() | st.integers(1, 90)),
    max_size=12,
)


def _write(lines: list[tuple[int, str, int | None]]) -> list[tuple[int, str, int | None]]:
    written: list[tuple[int, str, int | None]] = []
    for level, name, asked_us in lines:
        deepest = written[-1][0] + 1 if written else 0
        written.append((min(level, deepest), name, asked_us))
    return written


@given(_LINES)
def test_indentation_is_the_tree(drawn: list[tuple[int, str, int | None]]) -> None:
    lines = _write(drawn)
    text = "\n".join("  " * level + name + (f" {us}us" if us else "") for level, name, us in lines)
    trace = parse_outline(text)
    trace.self_check()
    events = list(trace.dfs())
    assert [(int(trace.depth[e.row]), e.name) for e in events] == [
        (at, name) for at, name, _ in lines
    ]
    for event, (_, _, asked_us) in zip(events, lines, strict=True):
        last = max((child.end_ns for child in event.children), default=event.start_ns)
        assert last <= event.end_ns - 1000 or not event.children
        assert event.duration_ns >= 1000 * (asked_us or 1)
        if asked_us and not event.children:
            assert event.duration_ns == 1000 * asked_us


@given(_LINES)
def test_events_come_one_after_the_other(drawn: list[tuple[int, str, int | None]]) -> None:
    trace = parse_outline("\n".join("  " * level + name for level, name, _ in _write(drawn)))
    for before, after in pairwise(trace.dfs()):
        assert before.start_ns < after.start_ns
        assert before.end_ns < after.start_ns or after.end_ns < before.end_ns


def test_kinds_are_told_by_names() -> None:
    trace = parse_outline("""
        train.py(3): train
          <built-in method to of Tensor object>
            nn.Module: Linear_0
              aten::to
                cudaMemcpyAsync
                  => Memcpy HtoD (Pageable -> Device) 3us 64B
                cudaMemsetAsync
                  => Memset (Device)
                hipLaunchKernel
                  => gemm
        Optimizer.step#SGD.step
        AddBackward0
        a range of the user
    """)
    kinds = {event.name.split()[0]: event.kind for event in trace.events()}
    assert kinds == {
        "train.py(3):": EventKind.PyCall,
        "<built-in": EventKind.PyCCall,
        "nn.Module:": EventKind.PyCall,
        "aten::to": EventKind.TorchOp,
        "cudaMemcpyAsync": EventKind.Runtime,
        "cudaMemsetAsync": EventKind.Runtime,
        "hipLaunchKernel": EventKind.Runtime,
        "Memcpy": EventKind.Memcpy,
        "Memset": EventKind.Memset,
        "gemm": EventKind.Kernel,
        "Optimizer.step#SGD.step": EventKind.Annotation,
        "AddBackward0": EventKind.TorchOp,
        "a": EventKind.Annotation,
    }


def test_device_work_hangs_on_the_call_above() -> None:
    trace = parse_outline("aten::to\n  cudaMemcpyAsync\n    => Memcpy HtoD 3us 64B")
    (copy,) = trace.named("Memcpy HtoD")
    assert (copy.duration_ns, copy.nbytes) == (3000, 64)
    assert [above.name for above in copy.ancestors()] == ["cudaMemcpyAsync", "aten::to"]
    assert copy.start_ns >= trace.named("cudaMemcpyAsync")[0].end_ns


def test_inputs() -> None:
    line = "aten::conv | float[16, 1], c10::Half[3], long int[], -, =1, =None, ="
    (event,) = parse_outline(line).dfs()
    assert event.input_shapes == ((16, 1), (3,), (), (), (), (), ())
    assert event.input_dtypes == (
        "float",
        "c10::Half",
        "long int",
        "",
        "Scalar",
        "Scalar",
        "Scalar",
    )
    assert event.concrete_inputs == ("", "", "", "", "1", "None", "")


def test_sequence_numbers_link_threads() -> None:
    trace = parse_outline("aten::mm seq=4\nthread 2\nMmBackward0 3us seq=4/1")
    mm, backward = trace.named("aten::mm")[0], trace.named("MmBackward0")[0]
    assert backward.forward == mm
    assert (mm.sequence_nr, mm.track.tid, backward.track.tid) == (4, 1, 2)


def test_the_header() -> None:
    trace: Trace = parse_outline("""
        # device 0 NVIDIA A100 8.0
        # device 1 some GPU
        # with_stack
        # distributedInfo {"rank": 1}
        aten::mm
    """)
    assert trace.devices[0].compute == (8, 0)
    assert trace.devices[1].name == "some GPU"
    assert trace.info.flag("with_stack")
    assert trace.info.rank == 1


@pytest.mark.parametrize(
    "text", ["aten::mm\n aten::add", "aten::mm\n    aten::add", "aten::mm | 7up"]
)
def test_what_is_no_outline_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape("of an outline")):
        parse_outline(text)
