"""The devices that are modelled, by name. Their figures stand in device_table.py."""

from __future__ import annotations

from .device_spec import DeviceSpec
from .device_table import ALIASES, SPECS

__all__ = ["MOST_DEVICES", "SPECS", "VARIABLE", "DeviceSpec", "find_spec", "parse_kind"]

VARIABLE = "TIDY_DEVICE"  # names the devices of a process, as in TIDY_DEVICE=h100:2
MOST_DEVICES = 64


def find_spec(text: str) -> DeviceSpec:
    """Return the device of that key, in upper or lower case; ValueError lists the keys."""
    key = text.strip().lower()
    spec = SPECS.get(ALIASES.get(key, key))
    if spec is None:
        known = ", ".join([*SPECS, *ALIASES])
        raise ValueError(f"no device {text!r} is modelled; there are {known}")
    return spec


def parse_kind(text: str) -> tuple[str, int]:
    """Return a device's key and how many are wanted: (`h100`, 2) of `h100:2`, (`t4`, 1) of `t4`."""
    name, colon, number = text.partition(":")
    if not colon:
        return name, 1
    if not number.isdigit() or not 1 <= int(number) <= MOST_DEVICES:
        raise ValueError(f"{number!r} devices: expected 1 to {MOST_DEVICES}, as in h100:2")
    return name, int(number)
