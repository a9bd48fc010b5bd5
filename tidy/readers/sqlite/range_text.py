"""What the text of an NVTX range says of an operator.

PyTorch's emit_nvtx has written (torch/csrc/profiler/util.cpp, `getNvtxStr`, and its predecessors):

    add, seq = 12                                        until 1.6, without a namespace
    aten::add, seq = 12, sizes = [[2, 3], [3, 4]]        1.7 and later, with record_shapes
    MulBackward0, seq = 12                               a backward node: the number of its forward
    MulBackward0, stashed seq = 12, seq = 30             the same, as its documentation has it
    aten::add, seq = 12, op_id = 7, sizes = [[2], []], input_op_ids = [(3,0), (0,-1)]    since 1.11

A number stands only where autograd made, or might have made, a node.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_FIRST = re.compile(r", ?stashed seq ?[=:]|, (?:seq|op_id|sizes|input_op_ids) = ")
_REST = re.compile(
    r"(?:, ?stashed seq ?[=:] ?(?P<stashed>\d{1,18}))?"
    r"(?:, seq = (?P<seq>\d{1,18}))?"
    r"(?P<op_id>, op_id = \d+)?"
    r"(?:, sizes = (?P<sizes>\[[\d\[\], -]*\]))?"
    r"(?:, (?:sizes|input_op_ids) = .*)?",  # the end of a long text may be cut off
    re.DOTALL,
)
# Namespaces of PyTorch's own; those of others are known as operators by what follows the name.
_NAMESPACES = (
    "aten::",
    "autograd::",
    "torch::",
    "prim::",
    "prims::",
    "quantized::",
    "c10d::",
    "_c10d_functional::",
    "c10d_functional::",
    "inductor::",
    "torchvision::",
    "torchaudio::",
    "fbgemm::",
    "xformers::",
    "record_param_comms",
)
_NAME = re.compile(r"[^\s,]+")
# Operators that PyTorch itself records without a namespace, to this day.
_BARE = re.compile(r"detach_?|<\w+ op>")
_BEFORE_NAMESPACES = re.compile(r"_?_?[a-z]\w*")
_BACKWARD = re.compile(r"(?:.*::)?\w*(?:Backwards?\d*|CopySlices)", re.DOTALL)
ENGINE = "autograd::engine::evaluate_function: "


@dataclass(frozen=True, slots=True)
class RangeText:
    """The parts of one text.

    Attributes:
        name: as Kineto names the operator, or the text of any other range.
        is_op: whether it is an operator or a backward node.
        is_backward: whether `sequence_nr` is that of a forward made before.
        sequence_nr: -1 for none.
        sizes: JSON of the dims of each input, "" where they were not recorded. Tensors of a list
            stand in a row, as if each were an input.
    """

    name: str
    is_op: bool = False
    is_backward: bool = False
    sequence_nr: int = -1
    sizes: str = ""


def parse_range(text: str) -> RangeText:
    """Take the text of a range apart."""
    first = _FIRST.search(text)
    rest = None if first is None else _REST.fullmatch(text, first.start())
    if first is None or rest is None:
        return RangeText(text, text.startswith(_NAMESPACES))
    stashed, seq, op_id, sizes = rest.groups()
    surely = stashed is not None or op_id is not None or sizes is not None
    meaning = _meaning(text[: first.start()], surely, stashed is not None or seq is not None)
    if meaning is None:
        return RangeText(text)
    name, is_op, is_node = meaning
    number = int(stashed or seq or -1)
    return RangeText(name, is_op, is_node or stashed is not None, number, sizes or "")


@lru_cache(maxsize=1 << 14)
def _meaning(name: str, surely: bool, numbered: bool) -> tuple[str, bool, bool] | None:
    """Kineto's name, whether it is an operator, and whether it is a backward node.

    None stands for a range of the user's. "batch 3, seq = 128" is one; where a name is followed by
    something that only PyTorch writes, the range is PyTorch's.
    """
    known = name.startswith(_NAMESPACES)
    if not (surely or known or _NAME.fullmatch(name)):
        return None
    is_node = numbered and _BACKWARD.fullmatch(name) is not None
    if numbered and not is_node and _BEFORE_NAMESPACES.fullmatch(name):
        name = f"aten::{name}"
    is_op = numbered or known or "::" in name or _BARE.fullmatch(name) is not None
    return name, is_op, is_node
