"""Running a case inside this process, as a program that records itself would."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


class _Alias(MetaPathFinder, Loader):
    """`import torch.x` gives tidy.runtime.x."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname.partition(".")[0] == "torch" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return import_module("tidy.runtime" + spec.name.removeprefix("torch"))

    def exec_module(self, module: ModuleType) -> None:
        """It is complete."""


@contextmanager
def _runtime_as_torch() -> Iterator[None]:
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_torch(name)}
    alias = _Alias()
    sys.meta_path.insert(0, alias)
    try:
        yield
    finally:
        sys.meta_path.remove(alias)
        for name in [name for name in sys.modules if _is_torch(name)]:
            del sys.modules[name]
        sys.modules.update(hidden)


def _is_torch(name: str) -> bool:
    return name.partition(".")[0] == "torch"


def run_on_runtime(script: Path) -> None:
    """The script, with tidy.runtime under the name of torch."""
    with _runtime_as_torch():
        runpy.run_path(str(script), run_name="__main__")


_kept: list[object] = []  # PyTorch 2.13 reads names of functions after they are gone


def run_on_torch(script: Path) -> None:
    pytest.importorskip("torch")
    _kept.append(runpy.run_path(str(script), run_name="__main__"))
