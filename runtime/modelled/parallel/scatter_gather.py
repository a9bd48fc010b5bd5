"""Inputs cut up for several devices, and outputs put together, in nested tuples, lists and dicts.

Source: torch/nn/parallel/scatter_gather.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...engine.tensor import Tensor
from .functions import Gather, Scatter

Cut = Callable[[Tensor], Any]


def tensors_of(obj: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(obj, Tensor):
        yield obj
    elif isinstance(obj, (tuple, list, dict)):
        for each in obj.values() if isinstance(obj, dict) else obj:
            yield from tensors_of(each)


def _is_namedtuple(obj: Any) -> bool:
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def scatter_map(obj: Any, cut: Cut, count: int) -> list[Any]:
    """`obj` once for each of `count` devices: tensors cut up by `cut`, all else as it is."""
    if isinstance(obj, Tensor):
        return list(cut(obj))
    if isinstance(obj, (tuple, list, dict)) and len(obj) > 0:
        members = obj.items() if isinstance(obj, dict) else obj
        rows = zip(*[scatter_map(each, cut, count) for each in members], strict=False)
        if _is_namedtuple(obj):
            return [type(obj)(*row) for row in rows]
        if isinstance(obj, tuple):
            return list(rows)
        return [list(row) if isinstance(obj, list) else type(obj)(row) for row in rows]
    return [obj for _ in range(count)]


def gather_map(outputs: Sequence[Any], join: Callable[..., Any]) -> Any:
    """The devices' outputs as one of the same nesting: tensors joined by `join`.

    Raises:
        ValueError: dicts with different numbers of keys.
    """
    out = outputs[0]
    if isinstance(out, Tensor):
        return join(*outputs)
    if out is None:
        return None
    if isinstance(out, dict):
        if any(len(each) != len(out) for each in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(out)((key, gather_map([each[key] for each in outputs], join)) for key in out)
    parts = (gather_map(each, join) for each in zip(*outputs, strict=True))
    return type(out)._make(parts) if _is_namedtuple(out) else type(out)(parts)


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Cut tensors into about equal pieces, one for each device; what is no tensor goes to all."""
    return scatter_map(inputs, lambda x: Scatter.apply(target_gpus, None, dim, x), len(target_gpus))


def same_length(
    inputs: list[Any], kwargs: list[Any]
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Arguments and keywords, the shorter of the two lists filled up with empty ones."""
    count = max(len(inputs), len(kwargs))
    inputs = inputs + [()] * (count - len(inputs))
    return tuple(inputs), (*kwargs, *({} for _ in range(count - len(kwargs))))


def scatter_kwargs(
    inputs: Any, kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """`scatter` of arguments and of keywords: one of each for every device that gets some."""
    return same_length(
        scatter(inputs, target_gpus, dim) if inputs else [],
        scatter(kwargs, target_gpus, dim) if kwargs else [],
    )


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """The devices' outputs on one of them, or on "cpu" (-1), one after the other along `dim`."""
    return gather_map(outputs, lambda *xs: Gather.apply(target_device, dim, *xs))
