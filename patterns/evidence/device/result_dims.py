"""Dims of what operators return, as far as their inputs tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from math import prod
from typing import Any

from ..python.op_names import aten

Dims = tuple[int, ...]

_BROADCAST = aten(
    "add sub mul div rsub pow exp expm1 log log1p log2 sqrt rsqrt square sigmoid tanh relu gelu "
    "silu elu selu celu mish leaky_relu softplus log_sigmoid hardtanh abs neg sin cos tan erf "
    "atan sign reciprocal floor ceil round trunc maximum minimum fmod remainder where lerp addcmul "
    "addcdiv clamp clamp_min clamp_max softmax log_softmax dropout layer_norm masked_fill cumsum "
    "flip roll eq ne gt ge lt le logical_and logical_or logical_not bitwise_and bitwise_or "
    "bitwise_not to _to_copy clone contiguous detach alias triu tril nan_to_num lift_fresh copy "
    "fill zero logaddexp __and__ __or__ __xor__ resolve_conj resolve_neg"
)
_REDUCES = aten("sum mean prod amax amin max min logsumexp")
_SPREADS = aten("std var")  # with a correction before what a reduction takes last
# Which argument of a loss says how it is reduced; 0 is not at all.
_REDUCTION = {
    f"aten::{name}": at
    for at, names in (
        (2, "mse_loss l1_loss smooth_l1_loss huber_loss kl_div soft_margin_loss"),
        (3, "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy_loss"),
        (3, "nll_loss nll_loss_nd hinge_embedding_loss"),
        (4, "cosine_embedding_loss margin_ranking_loss"),
    )
    for name in names.split()
}
LOSSES = frozenset(_REDUCTION)
_OF_DIMS = aten("zeros ones empty rand randn")
_NEW = aten("new_zeros new_ones new_full new_empty")
_FILLED = aten("full new_full")


def result_dims(name: str, dims: Sequence[Dims], values: Sequence[object]) -> Dims | None:
    """Return the dims of an operator's result, None if they are not known.

    Args:
        dims: of the tensors among its inputs.
        values: `Concrete Inputs` of all inputs.
    """
    try:
        if name in _BROADCAST or name.removesuffix("_") in _BROADCAST:
            return broadcast(dims)
        if name in _REDUCTION:
            at = _REDUCTION[name]
            return () if at >= len(values) or values[at] != "0" else None
        if name in _REDUCES:
            return _reduced(dims[0], values)
        if name in _SPREADS:
            return _reduced(dims[0], [*values[:2], *values[3:]])
        made = _MADE.get(name)
        return None if made is None else made(dims, [str(each) for each in values])
    except (ValueError, IndexError, ArithmeticError):  # a damaged file may have anything there
        return None


def made_dims(name: str, values: Sequence[object]) -> tuple[Dims | None, str]:
    """Return the dims of what is made of no tensor's elements, and the number of its dtype.

    The dims are None if they are not known, and the number is "" for the dtype by default.

    Args:
        values: `Concrete Inputs` of all inputs: dims are a list, or one number after the other.
    """
    texts = [str(each) for each in values]
    if name in _NEW:
        texts = texts[1:]
    skipped = name in _FILLED
    try:
        if texts and texts[0].startswith("["):
            return tuple(_numbers(texts[0])), "".join(texts[1 + skipped : 2 + skipped])
        if name not in _OF_DIMS:
            return None, ""
        dims = tuple(map(int, takewhile(str.isdigit, texts)))
        return dims or None, "".join(texts[len(dims) : len(dims) + 1])
    except ValueError:
        return None, ""


def broadcast(dims: Sequence[Dims]) -> Dims:
    """Return the dims of an elementwise result of tensors with these dims.

    Raises:
        ValueError: they do not go together.
    """
    found = list[int]()
    for at in range(1, max(map(len, dims)) + 1):
        sizes = {each[-at] for each in dims if len(each) >= at} - {1}
        if len(sizes) > 1:
            raise ValueError(dims)
        found.append(sizes.pop() if sizes else 1)
    return tuple(reversed(found))


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.strip("[]").split(",") if each.strip()]


def _reduced(dims: Dims, values: Sequence[object]) -> Dims:
    text = str(values[1]) if len(values) > 1 else ""
    along = {at % max(len(dims), 1) for at in _numbers(text)} if text else set()
    if not along:
        return ()
    keeps = len(values) > 2 and str(values[2]).lower() in ("true", "1")
    each = enumerate(dims)
    return tuple(1 if at in along else size for at, size in each if keeps or at not in along)


def _selected(dims: Sequence[Dims], values: Sequence[str]) -> Dims:
    at = int(values[1]) % len(dims[0])
    return dims[0][:at] + dims[0][at + 1 :]


def _unsqueezed(dims: Sequence[Dims], values: Sequence[str]) -> Dims:
    at = int(values[1]) % (len(dims[0]) + 1)
    return (*dims[0][:at], 1, *dims[0][at:])


def _transposed(dims: Sequence[Dims], values: Sequence[str]) -> Dims:
    order = list(dims[0])
    one, other = int(values[1]), int(values[2])
    order[one], order[other] = order[other], order[one]
    return tuple(order)


def _turned(dims: Sequence[Dims], _: Sequence[str]) -> Dims:
    return dims[0][::-1]


def _viewed(dims: Sequence[Dims], values: Sequence[str]) -> Dims:
    sizes, count = _numbers(values[1]), prod(dims[0])
    known = prod(each for each in sizes if each >= 0)
    if count != known and -1 in sizes and known:
        sizes[sizes.index(-1)] = count // known
    if prod(sizes) != count or not sizes:
        raise ValueError(values)
    return tuple(sizes)


def _product(dims: Sequence[Dims], _: Sequence[str]) -> Dims:
    left, right = dims[:2]
    if len(right) == 1:
        return left[:-1]
    if len(left) == 1:
        return right[:-2] + right[-1:]
    return (*broadcast([(1, *left[:-2]), (1, *right[:-2])])[1:], left[-2], right[-1])


def _sliced(dims: Sequence[Dims], values: Sequence[str]) -> Dims:
    at = int(values[1]) % len(dims[0])
    start, end, step = (int(each) if each else None for each in (*values, "", "", "")[2:5])
    size = len(range(dims[0][at])[start:end:step])
    return (*dims[0][:at], size, *dims[0][at + 1 :])


def _joined(dims: Sequence[Dims], values: Sequence[str]) -> Dims:
    at = int(values[1]) % len(dims[0])
    return (*dims[0][:at], sum(each[at] for each in dims), *dims[0][at + 1 :])


def _taken_along(dims: Sequence[Dims], values: Sequence[str]) -> Dims:
    at = int(values[1]) % len(dims[0])
    return (*dims[0][:at], *dims[1], *dims[0][at + 1 :])


def _linear(dims: Sequence[Dims], _: Sequence[str]) -> Dims:
    return dims[0][:-1] + dims[1][:-1]


_MADE: dict[str, Callable[[Sequence[Dims], Sequence[Any]], Dims]] = {
    "aten::select": _selected,
    "aten::unsqueeze": _unsqueezed,
    "aten::transpose": _transposed,
    "aten::t": _turned,
    "aten::numpy_T": _turned,
    "aten::view": _viewed,
    "aten::reshape": _viewed,
    "aten::linear": _linear,
    "aten::slice": _sliced,
    "aten::cat": _joined,
    "aten::index_select": _taken_along,
    **dict.fromkeys(aten("gather take"), lambda dims, _: dims[1]),
    **dict.fromkeys(aten("mm mv bmm matmul dot"), _product),
    "aten::addmm": lambda dims, values: _product(dims[1:], values),
}
