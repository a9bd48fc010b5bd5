"""What PyTorch's operators call that takes no work here: to allocate, to lay out, to fill.

Observers see it at the beginning of an operator, as children of it; without observers nothing is
called, and on a modelled device nothing is shown. Trees are those of PyTorch 2.13's CPU build,
which tests/runtime/questions_trees.py compares. What small operators do all the time (`as_strided`
in a view, `resolve_conj` in a product) is left out: to note it would take as long as they do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from .arrangement import active, innermost

Run = Callable[..., Any]
Shown = tuple[tuple[str, "Shown"], ...]  # names, and what is below each
Call = tuple[str, int, int]  # name, when it begins and ends, counted in beginnings and ends

_CONV = "empty empty as_strided_ resize_"
_CAST = "to(_to_copy(empty_strided copy_))"
_ZEROS = "zeros(empty zero_) "
_FLASH = "transpose "


def _of_batch_norm(*args: Any) -> str:
    return "empty_like(empty) " + "empty " * (6 if args[5] else 4)


def _of_dropout(_: Any, p: float = 0.5, training: bool = True, *rest: Any) -> str:
    return f"empty_like(empty_strided) bernoulli_ div_(div_({_CAST}))" if p and training else ""


def _of_sum(_: Any, dim: Any = None, *rest: Any) -> str:
    return "" if dim is None else "fill_"


# An operator, and the tree of what it calls, or what makes that of its arguments.
_TREES: dict[str, str | Callable[..., str]] = {
    "addmm": "expand copy_",
    "sum": _of_sum,
    "_batch_norm_impl_index": "empty",
    "native_batch_norm": _of_batch_norm,
    "native_batch_norm_backward": "empty_like(empty) empty empty empty_like(empty)",
    "native_group_norm": "empty empty empty",
    "native_group_norm_backward": "empty empty empty empty empty",
    "native_layer_norm": "empty empty empty view view",
    "native_layer_norm_backward": "empty empty empty empty resize_ zero_",
    "mkldnn_rnn_layer": "empty empty empty add empty",
    "mkldnn_rnn_layer_backward": "zeros_like(empty_like(empty) zero_) "
    "zeros_like(empty_like(empty) zero_) add empty empty empty empty empty empty "
    "clone(empty_strided copy_)",
    "_scaled_dot_product_flash_attention_for_cpu": "empty_like(empty_strided) "
    f"{_FLASH}empty {_FLASH * 3}empty empty {_FLASH * 2}",
    "_scaled_dot_product_flash_attention_for_cpu_backward": f"{_FLASH * 6}{_ZEROS * 3}"
    f"empty empty empty {_FLASH * 3}",
    "embedding_dense_backward": f"{_ZEROS}view",
    "max_pool2d_with_indices_backward": "zero_",
    "avg_pool2d_backward": "zero_",
    "mse_loss_backward": "zeros_like(empty_like(empty) zero_) mse_loss_backward",
    "nll_loss_backward": "zero_",
    "nll_loss": "nll_loss_forward",
    "dropout": _of_dropout,
    "relu": "clamp_min",
    "convolution": f"_convolution(mkldnn_convolution({_CONV}))",
    "zeros": "empty zero_",
    "stack": "cat view",
    "detach": ":detach",
    "lstm": "cudnn_is_acceptable",
    "gru": "cudnn_is_acceptable",
}


def around(name: str, inner: Run) -> Run:
    """Return what observers run of `aten::name`: `inner`, after what it calls beside."""
    tree = _TREES.get(name.removeprefix("aten::"))
    if tree is None:
        return inner

    def run(*args: Any, **kwargs: Any) -> Any:
        if not innermost:
            show(tree if isinstance(tree, str) else tree(*args))
        return inner(*args, **kwargs)

    return run


def show(tree: str) -> None:
    """Let observers see a tree, as `"to(_to_copy(empty_strided copy_))"`; `:` leaves out aten."""
    try:
        note = active[0].calls
    except AttributeError:
        _run(_read(tree))
    else:
        note(tree)


def _run(shown: Shown) -> None:
    op = active[0].op
    for name, below in shown:
        op(name, partial(_run, below), ())


@cache
def as_calls(tree: str) -> tuple[Call, ...]:
    """Return the calls of a tree in the order of their ends."""
    found: list[Call] = []

    def add(shown: Shown, at: int) -> int:
        for name, below in shown:
            end = add(below, at + 1)
            found.append((name, at, end))
            at = end + 1
        return at

    add(_read(tree), 0)
    return tuple(found)


@cache
def _read(tree: str) -> Shown:
    found = []
    while tree := tree.strip():
        name = re.match(r"[\w:]+", tree)[0]  # type: ignore[index]
        tree, inside = tree[len(name) :], ""
        if tree.startswith("("):
            end = _closing(tree)
            inside, tree = tree[1:end], tree[end + 1 :]
        found.append((f"aten::{name}".removeprefix("aten:::"), _read(inside)))
    return tuple(found)


def _closing(tree: str) -> int:
    depth = 0
    for place, letter in enumerate(tree):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return place
    raise ValueError(f"not a tree: {tree}")
