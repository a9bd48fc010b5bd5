"""Each module on its own device. Source: torch/nn/parallel/parallel_apply.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...engine.hooks import check
from ..current_device import device
from ..placement import device_number_of
from .scatter_gather import tensors_of


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
    told = f"{count} modules, {len(inputs)} inputs, {len(keywords)} keywords, {len(places)} devices"
    fits = count == len(inputs) == len(keywords) == len(places)
    check(fits, f"parallel_apply wants the same number of each: {told}", AssertionError)
    outputs = []
    each = zip(modules, inputs, keywords, places, strict=True)
    for number, (module, given, more, place) in enumerate(each):
        where = device_number_of(next(tensors_of(given), None)) if place is None else place
        wrong = f"in replica {number}, no device was provided and no tensor input was found"
        check(where is not None, wrong)
        with device(where):
            try:
                args = given if isinstance(given, (list, tuple)) else (given,)
                outputs.append(module(*args, **more))
            except Exception as error:
                if hasattr(error, "add_note"):
                    error.add_note(f"in replica {number} on device {where}")
                raise
    return outputs
