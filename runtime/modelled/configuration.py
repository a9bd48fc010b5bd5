"""Has the runtime's devices be there: configure() puts the machine together and opens the door.

configure("a100", count=2)          or TIDY_DEVICE=a100:2, or tidy run --device a100:2
"""

from __future__ import annotations

import gc
import os

from ..accelerator import register
from ..core.storage import storages
from ..observe.arrangement import set_innermost
from .dispatch import dispatcher
from .modelled_accelerator import accelerator
from .modelled_device import ModelledDevice, devices
from .specs import MOST_DEVICES, VARIABLE, find_spec, parse_kind
from .streams import start_streams


def configure(kind: str | None = "generic", count: int | None = None) -> None:
    """Have `count` modelled devices, `cuda:0` and on; None or 0 of them takes them away.

    Args:
        kind: v100, t4, a100-40, a100-80, l4, h100, h200, b200 or generic; `h100:2` is two of them.

    Raises:
        ValueError: an unknown kind, or a count that makes no sense.
        RuntimeError: tensors are on the devices there are.
    """
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
    start_streams()
    if devices and not had:
        set_innermost(dispatcher)
        register(accelerator)
    elif had and not devices:
        set_innermost(None)
        register(None)


def configure_from_environment() -> None:
    """Configure what TIDY_DEVICE asks for; ValueError, which names it, if that makes no sense."""
    try:
        configure(os.environ[VARIABLE])
    except ValueError as error:
        raise ValueError(f"{VARIABLE}={os.environ[VARIABLE]}: {error}") from None
