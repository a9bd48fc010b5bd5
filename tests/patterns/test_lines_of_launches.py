"""TDY402: the line that most launches come from, and layers that compiled code leaves alone."""

from __future__ import annotations

import pytest

import tidy
from tidy.patterns.examples import launch, on_gpu, steps, under
from tidy.trace.outline import parse_outline

_FAST, _SLOW = launch("aten::add 9us", "add_kernel 1us"), launch("aten::mul 80us", "mul_kernel 1us")


def _of_outline(outline: str) -> list[tidy.Finding]:
    return list(tidy.check(parse_outline(outline), select=["TDY402"]).findings)


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        ({5: _FAST * 20, 9: _FAST * 8}, 5),
        ({5: _FAST * 12, 9: _FAST * 12}, None),
        ({5: _FAST * 9, 9: _FAST * 9, 12: _FAST * 9}, None),
        ({5: _FAST * 20, 9: _SLOW * 12}, None),
        ({5: _SLOW * 20, 9: _FAST * 12}, 5),
    ],
    ids=["most", "halves", "thirds", "most launches alone", "most launches and time"],
)
def test_the_line_that_most_comes_from(lines: dict[int, str], at: int | None) -> None:
    parts = (under(f"train.py({line}): nms", ops) for line, ops in lines.items())
    (found,) = _of_outline(on_gpu(steps(*parts, lasts_us=None)))
    assert ("most of them from this line" in found.message) == (at is not None)
    assert str(found.location) == ("train.py:5" if at else "None")


def test_without_stacks_no_line_is_named() -> None:
    (found,) = _of_outline(on_gpu(steps(_FAST * 20, lasts_us=None)))
    assert found.location is None
    assert "this line" not in found.message


_BACKWARD = "torch/_tensor.py(566): backward"


@pytest.mark.parametrize(("of_line", "of_backward", "is_named"), [(24, 20, True), (12, 20, False)])
def test_what_a_backward_launches_is_of_no_line(
    of_line: int, of_backward: int, is_named: bool
) -> None:
    """Idle time and launches have to be mostly of the line without its backward."""
    one_line = under("train.py(5): nms", _SLOW * of_line, under(_BACKWARD, _FAST * of_backward))
    (found,) = _of_outline(on_gpu(steps(one_line, lasts_us=None)))
    assert (found.location is not None) == is_named


@pytest.mark.parametrize(
    ("layer", "beside", "is_offered"),
    [
        ("aten::lstm", 8, False),
        ("aten::gru", 8, False),
        ("aten::_cudnn_rnn", 8, False),
        ("aten::gru", 60, True),
        ("aten::lstm_cell", 8, True),
        ("aten::linear", 8, True),
    ],
)
def test_compiling_is_not_offered_for_recurrent_layers(
    layer: str, beside: int, is_offered: bool
) -> None:
    inside = launch("aten::addmm 9us", "gemm 1us") * 30
    (found,) = _of_outline(on_gpu(steps(under(layer, inside), _FAST * beside, lasts_us=None)))
    assert ("torch.compile(mode=" in found.fix) == is_offered
    assert "CUDA graph" in found.fix
    assert ("recurrent layers" in found.fix) != is_offered


@pytest.mark.parametrize(("layer", "is_offered"), [("aten::lstm", False), ("aten::linear", True)])
def test_nor_against_python_between_operators(layer: str, is_offered: bool) -> None:
    """TDY401 says the same as TDY402."""
    calls = under(layer, launch("aten::addmm 9us", "gemm 1us")), "work 20us"
    trace = parse_outline(on_gpu(steps(*calls * 20, lasts_us=None)))
    (found,) = tidy.check(trace, select=["TDY401"]).findings
    assert ("torch.compile(mode=" in found.fix) == is_offered


def test_the_backward_of_a_recurrent_layer_counts() -> None:
    inside = launch("aten::addmm 9us", "gemm 1us") * 12
    node = "autograd::engine::evaluate_function: CudnnRnnBackward0"
    layer = under("aten::_cudnn_rnn seq=7", inside)
    beside = _FAST * 20
    for backward, is_offered in (("CudnnRnnBackward0 seq=7/1", False), ("Other seq=8/1", True)):
        parts = layer, beside, under(node, under(backward, inside))
        (found,) = _of_outline(on_gpu(steps(*parts, count=1, lasts_us=None)))
        assert ("torch.compile(mode=" in found.fix) == is_offered
