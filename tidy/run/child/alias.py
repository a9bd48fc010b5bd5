"""`import torch` that gives tidy.runtime, in this process alone.

What the runtime lacks ends the script, as any missing name does, but with one line that names it.
"""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType, TracebackType
from typing import Any

from .endings import interrupts_later
from .guard import as_importlib
from .own_frames import cut

_RUNTIME = "tidy.runtime"
# Modules that are elsewhere.
_ELSEWHERE = {
    "torch.profiler": "tidy.profiler",
    "torch.autograd.profiler": "tidy.profiler.autograd_profiler",
}
# What `import torch` alone makes usable.
_AT_ONCE = ("nn", "optim", "utils.data")
_said = set[str]()  # what has been said to be missing
_MISSING = (
    re.compile(r"(?P<module>tidy\.runtime)() has no '(?P<name>\w+)'"),
    re.compile(r"module '(?P<module>tidy\.\w+[\w.]*)' has no attribute '(?P<name>\w+)'"),
    re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>tidy\.\w+[\w.]*)'"),
    re.compile(r"No module named '(?P<module>torch(\.\w+)*?)\.(?P<name>\w+)'"),
    re.compile(r"No module named '(?P<module>tidy\.runtime[\w.]*)\.(?P<name>\w+)'"),
    re.compile(r"(type object )?'(?P<module>Tensor)'( object)? has no attribute '(?P<name>\w+)'"),
)


def install(settings: dict[str, Any], is_recorded: bool = True) -> AliasFinder:
    """Make `torch` an alias, from now on, also in processes that `multiprocessing` spawns.

    Where `is_recorded` this process is recorded from the import on.

    Raises:
        SystemExit: there is no tidy for this Python.
    """
    # The Python that runs tidy finds tidy in the child, too.
    if settings["same_python"] and find_spec("tidy") is None:
        sys.path.append(settings["tidy_path"])
    try:
        import_module(_RUNTIME)
    except ImportError as error:
        lacking = error.name or str(error)
        raise SystemExit(
            f"tidy: {settings['script']}: tidy.runtime cannot be used with {sys.executable}:"
            f" it has no {lacking} (pip install torchtidy there)"
        ) from None
    finder = AliasFinder(settings, is_recorded)
    sys.meta_path.insert(0, finder)
    _follow_into_spawned(settings)
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _say_what_is_missing
    return finder


def _follow_into_spawned(settings: dict[str, Any]) -> None:
    """Have a process that is spawned make the alias before it imports the script.

    `multiprocessing` sends it what it calls preparation data, which it unpickles first.
    """
    try:
        from multiprocessing import spawn

        prepare = spawn.get_preparation_data
    except (ImportError, AttributeError):  # a module of the script's has that name
        return

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**prepare(name), "_tidy": _InSpawned(settings)}

    spawn.get_preparation_data = get_preparation_data


# This module has no name there by which it could be found.
_IN_SPAWNED = """
import sys
from importlib.util import find_spec
if settings["same_python"] and find_spec("tidy") is None:
    sys.path.append(settings["tidy_path"])
from tidy.run.child.alias import install
install(settings, is_recorded=False)
"""


class _InSpawned:
    """What makes the alias in a spawned process when it is unpickled there."""

    def __init__(self, settings: dict[str, Any]) -> None:
        names = ("script", "same_python", "tidy_path")
        self._settings = {name: settings[name] for name in names}

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (_IN_SPAWNED, {"settings": self._settings})


class AliasFinder:
    """Finds `torch` and what is below it, and loads nothing: the modules are there."""

    def __init__(self, settings: dict[str, Any], is_recorded: bool) -> None:
        self._settings = settings
        self._recorded = not is_recorded

    @as_importlib
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "torch" and not name.startswith("torch."):
            return None
        real = _ELSEWHERE.get(name, _RUNTIME + name.removeprefix("torch"))
        try:
            module = import_module(real)
        except ModuleNotFoundError as error:
            if error.name != real and not (error.name or "").startswith(_RUNTIME):
                raise
            return None
        loader: Any = self
        spec = ModuleSpec(name, loader, is_package=hasattr(module, "__path__"))
        spec.loader_state = module, module.__spec__
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module: ModuleType = spec.loader_state[0]
        return module

    @as_importlib
    def exec_module(self, module: Any) -> None:
        module.__spec__ = module.__spec__.loader_state[1]  # the import has put the alias's there
        if module.__name__ == _RUNTIME:
            with interrupts_later():
                self._imported()

    def _imported(self) -> None:
        """`torch` is there: begin to record."""
        for name in _AT_ONCE:
            import_module(f"{_RUNTIME}.{name}")
        for name, real in _ELSEWHERE.items():
            package, _, last = name.rpartition(".")
            setattr(import_module(_RUNTIME + package[5:]), last, import_module(real))
        if not self._recorded:
            self._recorded = True
            from .lacking import lacking_in_files
            from .start import record

            # All that the script names and the runtime has not, before it begins to train.
            script = os.path.abspath(self._settings["script"])
            found = lacking_in_files(script, sys.modules[_RUNTIME])
            _said.update(name for _, _, name in found)
            if found:
                each = [f"{_shown(file)}:{line}: {name}" for file, line, name in found]
                _say(", ".join(each), len(found))
            record("runtime", self._settings)


def _say_what_is_missing(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    missing = _missing(error) if isinstance(error, (AttributeError, ImportError)) else None
    if missing is None:
        cut(error, trace)
        sys.__excepthook__(kind, error, trace)
        return
    if missing not in _said:
        _say(f"{_place(trace)}{missing}", 1)


def _say(what: str, count: int) -> None:
    verb = "is" if count == 1 else "are"
    sys.stderr.write(
        f"tidy: {what} {verb} not in tidy.runtime (docs/runtime.md lists what is);"
        " --framework torch runs on PyTorch\n"
    )


def _missing(error: BaseException) -> str | None:
    """The name that is missing, as PyTorch has it."""
    for pattern in _MISSING:
        match = pattern.match(str(error))
        if match is not None:
            module, name = match["module"], match["name"]
            module = "torch.Tensor" if module == "Tensor" else module
            module = re.sub(r"^tidy\.(runtime)?", "torch.", module).rstrip(".").replace("..", ".")
            return f"{module}.{name}" if name else module
    return None


def _place(trace: TracebackType | None) -> str:
    """`train.py:12: `, the innermost line that is not tidy's or Python's own."""
    files = (os.path.abspath(sys.modules[name].__file__ or "") for name in ("tidy", _RUNTIME))
    ours = tuple(os.path.dirname(file) + os.sep for file in files)
    found = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        path = os.path.abspath(file)
        if not file.startswith("<") and not path.startswith(ours):
            found = f"{_shown(path)}:{trace.tb_lineno}: "
        trace = trace.tb_next
    return found


def _shown(path: str) -> str:
    return path.removeprefix(os.getcwd() + os.sep)
