"""The configured devices, and which device and streams are current in a thread.

    configure("a100", count=2)          or TIDY_DEVICE=a100:2, or tidy run --device a100:2

Source: c10/cuda/CUDAFunctions.h, torch/cuda/__init__.py.
"""

from __future__ import annotations

import gc
import os
import threading
from typing import TYPE_CHECKING, Any

from ..storage import accelerator

if TYPE_CHECKING:
    from .modelled_device import ModelledDevice
    from .streams import Stream

VARIABLE = "TIDY_DEVICE"
MOST_DEVICES = 64

devices: list[ModelledDevice] = []


class _Here(threading.local):
    device = 0
    streams: dict[int, Stream] | None = None  # by device; the default stream where none is given


class _Depth(threading.local):
    inside = 0  # operators and backwards that run at the moment


here = _Here()
depth = _Depth()


def configure(kind: str | None = "generic", count: int | None = None) -> None:
    """Have `count` modelled devices, `cuda:0` and on; None or 0 of them takes them away.

    Args:
        kind: v100, t4, a100-40, a100-80, l4, h100, h200, b200 or generic; `h100:2` is two of them.

    Raises:
        ValueError: an unknown kind, or a count that makes no sense.
        RuntimeError: tensors are on the devices there are.
    """
    from ..record_function import set_innermost
    from ..storage import storages
    from . import backward, dispatch
    from .modelled_device import ModelledDevice
    from .specs import find_spec

    name, number = parse_kind(kind) if kind else ("", 0)
    count = number if count is None else count
    if not 0 <= count <= MOST_DEVICES:
        raise ValueError(f"{count} devices: expected 0 to {MOST_DEVICES}")
    spec = find_spec(name) if count else None
    if storages:
        gc.collect()
    if storages:
        raise RuntimeError("tensors are on the devices already: configure before the first one")
    had = bool(devices)
    devices[:] = [ModelledDevice(index, spec) for index in range(count)] if spec else []
    here.device, here.streams = 0, None
    if devices and not had:
        set_innermost(dispatch.dispatcher)
        accelerator.append(backward.streams)
    elif had and not devices:
        set_innermost(None)
        accelerator.clear()


def parse_kind(text: str) -> tuple[str, int]:
    """`h100:2` as (`h100`, 2); one where there is no number.

    Raises:
        ValueError: what stands behind the colon is no number of devices.
    """
    name, colon, number = text.partition(":")
    if not colon:
        return name, 1
    if not number.isdigit() or not 1 <= int(number) <= MOST_DEVICES:
        raise ValueError(f"{number!r} devices: expected 1 to {MOST_DEVICES}, as in h100:2")
    return name, int(number)


def configure_from_environment() -> None:
    """What TIDY_DEVICE asks for.

    Raises:
        ValueError: naming the variable, where it makes no sense.
    """
    try:
        configure(os.environ[VARIABLE])
    except ValueError as error:
        raise ValueError(f"{VARIABLE}={os.environ[VARIABLE]}: {error}") from None


def device_index(device: Any = None, *, optional: bool = True) -> int:
    """The number of `device`: a number, `cuda`, `cuda:1`, a torch.device; None is the current one.

    Raises:
        RuntimeError: there is no such device.
        ValueError: it names no CUDA device at all.
    """
    if device is None and optional:
        index = here.device
    elif isinstance(device, int) and not isinstance(device, bool):
        index = here.device if device < 0 else device
    else:
        kind, _, number = str(device).partition(":")
        if kind != "cuda" or (number and not number.isdigit()):
            raise ValueError(f"Expected a cuda device, but got: {device}")
        index = int(number) if number else here.device
    if not 0 <= index < len(devices):
        raise RuntimeError(no_such_device(f"cuda:{index}"))
    return index


def no_such_device(device: str) -> str:
    """What to say, and what to do."""
    if devices:
        return f"CUDA error: invalid device ordinal: {device}; there are {len(devices)}"
    return (
        f"tidy.runtime has no device {device!r}; it has 'cpu'. A modelled one: "
        f"tidy run --device a100, {VARIABLE}=a100, or tidy.runtime.cuda.configure('a100')"
    )


def current_stream(index: int) -> Stream:
    """The stream that this thread's work for a device goes to."""
    streams = here.streams
    if streams is not None and (found := streams.get(index)) is not None:
        return found
    return devices[index].default_stream
