"""Floating point operations of products, convolutions and attention, with those of the backward.

`tidy.trace.flops` has what PyTorch's profiler counts, for its table. Here is what a GPU has to
compute: also in a backward, of convolutions of any number of dims, and of attention. The formulas
are those of `torch.utils.flop_counter`, but for causal attention, of which half counts, and for the
weights of transposed and grouped convolutions, of whose gradients it counts too much.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from ..trace.flops import count_flops
from ..trace.inputs import Inputs

Shapes = tuple[Any, ...]
_MOST = 1 << 62
# In its backward, attention has five products where its forward has two.
_BACKWARD = 2.5


class _Op(NamedTuple):
    """`first` is the place of the input whose dtype is that of the whole computation."""

    first: int
    flops: Callable[[Shapes, Shapes], float] | None = None


def _sizes(concrete: Shapes, at: int, count: int) -> list[int]:
    """`[2, 1]`, or `[2]` for all dims."""
    values = [int(value) for value in json.loads(concrete[at])]
    return values * count if len(values) == 1 else values


def _convolution(shapes: Shapes, concrete: Shapes) -> float:
    """`aten::convolution(input, weight, bias, stride, padding, dilation, transposed, ...)`."""
    (batch, _, *image), (_, _, *kernel) = shapes[0], shapes[1]
    if concrete[6] == "True":  # each pixel of the input meets the whole kernel
        return float(2 * prod(shapes[0]) * prod(shapes[1][1:]))
    stride, padding, dilation = (_sizes(concrete, at, len(image)) for at in (3, 4, 5))
    pixels = prod(
        (image[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
        for i in range(len(image))
    )
    return float(2 * batch * pixels * prod(shapes[1]))


def _convolution_backward(shapes: Shapes, concrete: Shapes) -> float:
    """`aten::convolution_backward(grad_output, input, weight, ..., transposed, ..., mask)`."""
    meets_kernel = shapes[1] if concrete[7] == "True" else shapes[0]
    gradients = json.loads(concrete[10].lower())[:2]
    return float(2 * sum(gradients) * prod(meets_kernel) * prod(shapes[2][1:]))


def _attention(first: int, is_causal: int, times: float) -> Callable[[Shapes, Shapes], float]:
    """Of `query, key, value` from `first` on; dims are (batch, heads, sequence, head size)."""

    def flops(shapes: Shapes, concrete: Shapes) -> float:
        (*outer, queries, size), (*_, keys, _), (*_, out) = shapes[first : first + 3]
        whole: float = 2 * prod(outer) * queries * keys * (size + out)
        causal = concrete[is_causal : is_causal + 1] == ("True",)
        return times * whole * (0.5 if causal else 1.0)

    return flops


_OPS: dict[str, _Op] = {
    "aten::mm": _Op(0),
    "aten::addmm": _Op(1),
    "aten::bmm": _Op(0),
    "aten::baddbmm": _Op(1),
    "aten::_addmm_activation": _Op(1, lambda s, _: 2.0 * prod(s[1]) * s[2][1]),
    "aten::_scaled_mm": _Op(0, lambda s, _: 2.0 * prod(s[0]) * s[1][1]),
    "aten::mv": _Op(0, lambda s, _: 2.0 * prod(s[0])),
    "aten::addmv": _Op(1, lambda s, _: 2.0 * prod(s[1])),
    "aten::convolution": _Op(0, _convolution),
    "aten::convolution_backward": _Op(0, _convolution_backward),
}
_OPS |= {
    f"aten::_scaled_dot_product_{name}": _Op(first, _attention(first, is_causal, times))
    for name, first, is_causal, times in (
        ("flash_attention", 0, 4, 1.0),
        ("efficient_attention", 0, 6, 1.0),
        ("cudnn_attention", 0, 6, 1.0),
        ("flash_attention_for_cpu", 0, 4, 1.0),
        ("flash_attention_backward", 1, 11, _BACKWARD),
        ("efficient_attention_backward", 1, 11, _BACKWARD),
        ("cudnn_attention_backward", 1, 14, _BACKWARD),
        ("flash_attention_for_cpu_backward", 1, 7, _BACKWARD),
    )
}
# Names of the ops that have a formula.
COUNTED_OPS = tuple(_OPS)


def op_flops(name: str, inputs: Inputs, inputs_id: int) -> int:
    """Operations of one call; 0 where its inputs do not tell."""
    op = _OPS[name]
    if op.flops is None:
        return count_flops(name, inputs, inputs_id)
    try:
        count = int(op.flops(inputs.shapes(inputs_id), inputs.concrete(inputs_id)))
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError):
        return 0  # a call of another form, or a recording without what the formula needs
    return count if 0 <= count <= _MOST else 0


def is_empty_op(name: str, inputs: Inputs, inputs_id: int) -> bool:
    """Tell whether what is multiplied has no elements, as where an expert is given no tokens."""
    first = _OPS[name].first
    return any(0 in shape for shape in inputs.shapes(inputs_id)[first : first + 2])


def op_dtype(name: str, inputs: Inputs, inputs_id: int) -> str:
    """Return the dtype of what is multiplied, as the profiler writes it; "" if it is not
    recorded.
    """
    first = _OPS[name].first
    return str((*inputs.dtypes(inputs_id)[first : first + 1], "")[0])
