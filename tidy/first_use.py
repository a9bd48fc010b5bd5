"""Packages whose names are fetched when they are first used: few commands need them all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_first_use(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package; its modules can be fetched, too.

    Args:
        package: its name.
        homes: names, separated by spaces, by the module of the package that has them. None may be
            the name of a module there: Python puts the module in its place once it is imported.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def fetch(name: str) -> Any:
        if name in homes:
            return import_module(f"{package}.{name}")  # which sets it in the package
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return list(sys.modules[package].__all__)  # what users are to write

    return fetch, names
