"""Noticing the first import of a framework, and beginning to record when it is done."""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

NO_TORCH = "no-torch"
FRAMEWORKS = {"torch": "torch", "tidy.runtime": "runtime"}


class Watcher:
    """A finder that finds nothing itself; it looks at what is being imported."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._pid = os.getpid()
        self._looking = False
        self._is_first = True

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if self._is_first:
            self._is_first = False
            _forget_hook()
        wanted = self._settings["framework"]
        if name not in FRAMEWORKS or self._looking or self._pid != os.getpid():
            return None
        if name == "torch" and wanted == "runtime":
            from .alias import install

            sys.meta_path.remove(self)
            return install(self._settings).find_spec(name)
        if wanted not in ("auto", FRAMEWORKS[name]):
            return None
        self._looking = True
        try:
            spec = self._find(name, path, target)
        finally:
            self._looking = False
        if spec is None and name == "torch":
            with open(os.path.join(self._settings["folder"], NO_TORCH), "w"):
                pass  # the report says it
        if spec is not None and hasattr(spec.loader, "exec_module"):
            announcing: Any = _Announcing(spec.loader, self)
            spec.loader = announcing
        return spec

    @staticmethod
    def _find(name: str, path: Any, target: Any) -> ModuleSpec | None:
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find else None
            if spec is not None:
                return spec
        return None

    def imported(self, name: str) -> None:
        """Begin to record with the framework that was imported first."""
        if self not in sys.meta_path or self._pid != os.getpid():
            return
        sys.meta_path.remove(self)
        from .recorder import record

        record(FRAMEWORKS[name], self._settings)


def _forget_hook() -> None:
    """Take out the module that began the recording, if no other of its name took its place."""
    found = sys.modules.get("sitecustomize")
    here = os.path.dirname(os.path.abspath(__file__))
    if (getattr(found, "__file__", None) or "").startswith(here):
        del sys.modules["sitecustomize"]


class _Announcing:
    """The loader of a framework, which tells when the module is there."""

    def __init__(self, loader: Any, watcher: Watcher) -> None:
        self._loader, self._watcher = loader, watcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._watcher.imported(module.__name__)
