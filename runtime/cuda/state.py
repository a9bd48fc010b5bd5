"""The devices that are configured."""

from __future__ import annotations

from typing import Any

devices: list[Any] = []
