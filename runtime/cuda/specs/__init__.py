"""The devices that are modelled, by name. Their figures stand in data.py."""

from __future__ import annotations

from .data import ALIASES, ALL
from .device_spec import DeviceSpec

__all__ = ["SPECS", "DeviceSpec", "find_spec"]

SPECS: dict[str, DeviceSpec] = {spec.key: spec for spec in ALL}


def find_spec(text: str) -> DeviceSpec:
    """The device of that key, in upper or lower case.

    Raises:
        ValueError: there is none; it lists those that there are.
    """
    key = text.strip().lower()
    found = SPECS.get(ALIASES.get(key, key))
    if found is None:
        known = ", ".join([*SPECS, *ALIASES])
        raise ValueError(f"no device {text!r} is modelled; there are {known}")
    return found
