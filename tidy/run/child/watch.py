"""Noticing the first import of a framework, and beginning to record when it is done."""

from __future__ import annotations

import sys

from .guard import Harmless, as_importlib, harmless, one_line
from .kept import atexit, os
from .notes import CHILDREN, NO_TORCH, PROBLEM, leave_note
from .piece_writer import FRAMEWORKS, children_ms

TYPE_CHECKING = False  # `typing` is left to the script to import
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


def begin(path: str, environment: dict[str, str]) -> None:
    """Watch for the import of a framework, as the file with `RunOptions.settings` says.

    The variables that made this process begin to record are `environment`; a launcher of ranks
    keeps them for the processes it starts.
    """
    # Read without `json`: a script may have a json.py of its own.
    with open(path, encoding="utf-8") as file:
        settings: Any = eval(file.read(), {"__builtins__": {}})  # noqa: S307 - tidy wrote it
    if settings["is_launcher"]:
        if not _is_rank():
            os.environ.update(environment)
            return
        settings["rank"] = {
            "rank": int(os.environ["RANK"]),
            "world_size": int(os.environ["WORLD_SIZE"]),
        }
        settings["folder"] = os.path.join(settings["folder"], f"rank{os.environ['RANK']}")
    watcher: Any = Watcher(settings)
    sys.meta_path.insert(0, watcher)
    atexit.register(watcher.ended)


def _is_rank() -> bool:
    """Whether torchrun, or what is like it, started this process as a rank."""
    return all(os.environ.get(name, "").isdecimal() for name in ("RANK", "WORLD_SIZE")) and any(
        name in os.environ for name in ("TORCHELASTIC_RUN_ID", "LOCAL_RANK")
    )


class Watcher(Harmless):
    """A finder that finds nothing itself; it looks at what is being imported."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._pid = os.getpid()
        self._looking = False
        self._is_first = True

    @as_importlib
    @harmless
    @as_importlib
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if self._is_first:
            self._is_first = False
            _forget_hook()
        wanted = self._settings["framework"]
        if name not in FRAMEWORKS or self._looking or self._pid != os.getpid():
            return None
        if name == "torch" and wanted == "runtime":
            sys.meta_path.remove(self)
            from .alias import install
            from .endings import interrupts_later

            with interrupts_later():  # what would be in their traceback is ours
                return install(self._settings).find_spec(name)
        if wanted not in ("auto", FRAMEWORKS[name]):
            return None
        from importlib.util import find_spec

        self._looking = True
        try:
            spec = find_spec(name)
        finally:
            self._looking = False
        if spec is None and name == "torch":
            leave_note(self._settings["folder"], NO_TORCH, "")
        if spec is not None and hasattr(spec.loader, "exec_module"):
            announcing: Any = _Announcing(spec.loader, self)
            spec.loader = announcing
        return spec

    @as_importlib
    @harmless
    @as_importlib
    def imported(self, name: str) -> None:
        """Begin to record with the framework that was imported first.

        Ctrl-C comes when that is done, since the traceback of the script has no frames of ours.
        """
        if self not in sys.meta_path or self._pid != os.getpid():
            return
        sys.meta_path.remove(self)
        from .endings import interrupts_later

        with interrupts_later():
            from .start import record

            record(FRAMEWORKS[name], self._settings)

    @harmless
    def ended(self) -> None:
        """Note how long child processes ran; without this note Python did not end the script."""
        if self._pid == os.getpid():
            leave_note(self._settings["folder"], CHILDREN, f"{children_ms()}")

    def fail(self, error: BaseException) -> None:
        """Say that there is no recording, and why."""
        leave_note(self._settings["folder"], PROBLEM, f"cannot be recorded: {one_line(error)}")


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

    @as_importlib
    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._watcher.imported(module.__name__)
