"""What the text of an NVTX range says, in the forms that versions of PyTorch write."""

from __future__ import annotations

import pytest

from tidy.readers.sqlite.range_text import RangeText, parse_range


def _op(name: str, seq: int = -1, *, backward: bool = False, sizes: str = "") -> RangeText:
    return RangeText(name, True, backward, seq, sizes)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("aten::add", _op("aten::add")),
        ("aten::add, seq = 12", _op("aten::add", 12)),
        ("aten::add, seq = 0", _op("aten::add", 0)),
        ("aten::mm, sizes = [[2, 3], []]", _op("aten::mm", sizes="[[2, 3], []]")),
        (
            "aten::mm, seq = 3, sizes = [[2, 3], [3, 4]]",
            _op("aten::mm", 3, sizes="[[2, 3], [3, 4]]"),
        ),
        ("aten::add, op_id = 7", _op("aten::add")),
        (
            "aten::add, seq = 12, op_id = 7, sizes = [[2], []], input_op_ids = [(3,0), (0,-1)]",
            _op("aten::add", 12, sizes="[[2], []]"),
        ),
        ("MulBackward0, seq = 12", _op("MulBackward0", 12, backward=True)),
        ("MulBackward0, stashed seq = 12, seq = 30", _op("MulBackward0", 12, backward=True)),
        ("MulBackward, stashed seq=12", _op("MulBackward", 12, backward=True)),
        ("torch::CopyBackwards, seq = 4", _op("torch::CopyBackwards", 4, backward=True)),
        ("aten::_softmax_backward_data, seq = 4", _op("aten::_softmax_backward_data", 4)),
        ("torch::autograd::AccumulateGrad, op_id = 4", _op("torch::autograd::AccumulateGrad")),
        ("mylib::fused, op_id = 9", _op("mylib::fused")),
        ("MyFunction, seq = 9", _op("MyFunction", 9)),
        ("<forward op>, op_id = 9, sizes = [[1]]", _op("<forward op>", sizes="[[1]]")),
        ("detach, op_id = 3", _op("detach")),
        ("add_, seq = 12", _op("aten::add_", 12)),  # before 1.7
        ("Optimizer.step#SGD.step, op_id = 9", RangeText("Optimizer.step#SGD.step")),
        ("forward", RangeText("forward")),
        ("", RangeText("")),
        ("batch 3, seq = 128", RangeText("batch 3, seq = 128")),
        ("load, seq=128", RangeText("load, seq=128")),
        ("mylib::fused", RangeText("mylib::fused")),
        ("aten::mm, sizes = [[2, 3", _op("aten::mm")),
    ],
)  # fmt: skip
def test_forms(text: str, meaning: RangeText) -> None:
    assert parse_range(text) == meaning


def test_a_long_text_takes_no_time() -> None:
    assert not parse_range("x, seq = " * 20_000).is_op
    assert parse_range("aten::cat, sizes = [" + "[1, 2], " * 20_000 + "[]]").sizes
