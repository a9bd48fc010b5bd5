"""Each module on its own device. Source: torch/nn/parallel/parallel_apply.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...cuda.current import device
from ...storage import storage_of
from ...tensor import Tensor


def _a_tensor(obj: Any) -> Tensor | None:
    """The first tensor in nested tuples, lists and dicts."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, (tuple, list, dict)):
        for each in obj.values() if isinstance(obj, dict) else obj:
            if (found := _a_tensor(each)) is not None:
                return found
    return None


def parallel_apply(
    modules: Sequence[Any],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """The outputs of all modules, each on its inputs and with its device as the current one.

    They are run one after the other, in the caller's thread. What they launch runs at one time.

    Raises:
        AssertionError: as many modules, inputs, keywords and devices are wanted.
        RuntimeError: no device is given, and no input tells one.
    """
    count = len(modules)
    keywords: Any = kwargs_tup or [{}] * count
    places: Any = devices or [None] * count
    if not count == len(inputs) == len(keywords) == len(places):
        told = f"{count} modules, {len(inputs)} inputs, {len(keywords)} keywords"
        raise AssertionError(
            f"parallel_apply wants the same number of each: {told}, {len(places)} devices"
        )
    outputs = []
    for number, (module, given, more, place) in enumerate(
        zip(modules, inputs, keywords, places, strict=True)
    ):
        where = place
        if where is None:
            tensor = _a_tensor(given)
            storage = None if tensor is None else storage_of(tensor)
            if storage is None:
                raise RuntimeError(
                    f"in replica {number}, no device was provided and no tensor input was found"
                )
            where = storage.device
        with device(where):
            try:
                args = given if isinstance(given, (list, tuple)) else (given,)
                outputs.append(module(*args, **more))
            except Exception as error:
                if hasattr(error, "add_note"):
                    error.add_note(f"in replica {number} on device {where}")
                raise
    return outputs
