"""An event's place is the user's frame nearest above it."""

from __future__ import annotations

import pytest

from tidy.trace import Location, Trace
from tidy.trace.location import is_user_file, parse_call_stack, parse_frame
from tidy.trace.outline import parse_outline

from ..conftest import ReadEvents
from .kineto import frame, op


def _place(trace: Trace, name: str) -> str | None:
    event = trace.named(name)[0]
    return str(event.location) if event.location else None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train.py(12): train", Location("train.py", 12, "train")),
        ("C:\\me\\train.py(12): <module>", Location("C:/me/train.py", 12, "<module>")),
        ("a (1).py(7): f", Location("a (1).py", 7, "f")),
        ("train.py(0): <module>", Location("train.py", 1, "<module>")),
        ("torch/nn/init.py(1): <lambda>", Location("torch/nn/init.py", 1, "<lambda>")),
        ("<built-in method to of Tensor object at 0x7f>", None),
        ("nn.Module: Conv2d_0", None),
        ("aten::add", None),
        ("train.py: train", None),
    ],
)  # fmt: skip
def test_frames(name: str, expected: Location | None) -> None:
    assert parse_frame(name) == expected


@pytest.mark.parametrize(
    ("file", "is_users"),
    [
        ("train.py", True),
        ("src/models/resnet.py", True),
        ("/home/me/project/train.py", True),
        ("C:/Users/me/train.py", True),
        ("profile.py", True),
        ("torch/nn/functional.py", False),
        ("bitsandbytes/optim/optimizer.py", False),
        ("/opt/conda/lib/python3.11/site-packages/mypkg/fit.py", False),
        ("/usr/lib/python3.10/queue.py", False),
        ("C:/Python311/lib/site-packages/numpy/core.py", False),
        ("threading.py", False),
        ("concurrent/futures/thread.py", False),
        ("<frozen importlib._bootstrap>", False),
    ],
)
def test_whose_file_it_is(file: str, is_users: bool) -> None:
    assert is_user_file(file) == is_users


def test_the_nearest_frame_of_the_user_wins() -> None:
    trace = parse_outline("""
        main.py(50): main
          train.py(12): train
            torch/nn/modules/module.py(1500): _call_impl
              nn.Module: Linear_0
                <built-in function linear>
                  aten::linear
                    cudaLaunchKernel
                      => gemm
        aten::relu
    """)
    assert _place(trace, "aten::linear") == "train.py:12"
    assert _place(trace, "cudaLaunchKernel") == "train.py:12"
    assert _place(trace, "gemm") == "train.py:12"
    assert _place(trace, "train.py*") == "train.py:12"
    assert _place(trace, "aten::relu") is None


def test_frames_name_a_function_and_call_stacks_a_line(read_events: ReadEvents) -> None:
    stack = "torch/functional.py(9): einsum;model.py(31): forward;train.py(4): <module>;"
    trace = read_events(
        [
            frame("train.py(2): train", 0, 30),
            op("aten::mm", 5, 5),
            op("aten::einsum", 15, 5, args={"Call stack": stack}),
        ]
    )
    mm, einsum = trace.named("aten::mm")[0], trace.named("aten::einsum")[0]
    assert mm.location == Location("train.py", 2, "train", is_call_line=False)
    assert einsum.location == Location("model.py", 31, "forward", is_call_line=True)


def test_a_call_stack_of_libraries_alone_has_no_place() -> None:
    assert parse_call_stack("torch/functional.py(9): einsum;threading.py(3): run") is None
    assert parse_call_stack("") is None


def test_a_backward_op_has_the_place_of_its_forward(read_events: ReadEvents) -> None:
    forward = {"Sequence number": 3, "Fwd thread id": 0}
    backward = {"Sequence number": 3, "Fwd thread id": 1}
    trace = read_events(
        [
            frame("train.py(2): train", 0, 100),
            frame("model.py(7): forward", 10, 20),
            op("aten::mm", 12, 5, args=forward),
            op("evaluate_function: MmBackward0", 50, 20, tid=2, args=backward),
            op("MmBackward0", 52, 15, tid=2, args=backward),
            op("aten::mm", 55, 5, tid=2),
            op("AccumulateGrad", 75, 5, tid=2),
        ]
    )
    assert _place(trace, "MmBackward0") == "model.py:7"
    assert [str(event.location) for event in trace.named("aten::mm")] == ["model.py:7"] * 2
    assert _place(trace, "AccumulateGrad") == "train.py:2", (
        "it has no forward: the caller of backward"
    )


def test_a_frame_of_its_own_beats_the_forward(read_events: ReadEvents) -> None:
    """A backward in Python, as of a custom autograd function."""
    trace = read_events(
        [
            frame("model.py(7): forward", 0, 20),
            op("Scale", 5, 5, args={"Sequence number": 3, "Fwd thread id": 0}),
            op("ScaleBackward", 50, 20, tid=2, args={"Sequence number": 3, "Fwd thread id": 1}),
            frame("model.py(15): backward", 52, 10, tid=2),
            op("aten::mul", 55, 5, tid=2),
        ]
    )
    assert _place(trace, "aten::mul") == "model.py:15"
    assert _place(trace, "ScaleBackward") == "model.py:7"
