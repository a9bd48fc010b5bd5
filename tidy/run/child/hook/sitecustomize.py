"""Begins the recording, before Python runs the script.

Python imports `sitecustomize` when it starts. That leaves everything else to Python itself: the
script runs as under `python script.py`, with no frame of ours below its own. What gave this file
its place (two variables, an entry of sys.path, its name) is put back as it was, and a
`sitecustomize` that it hides is imported.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` is left to the script to import
if TYPE_CHECKING:
    from types import ModuleType

_SETTINGS, _PATH_BEFORE = "_TIDY_RUN_SETTINGS", "_TIDY_RUN_PYTHONPATH"


def _begin() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    settings = os.environ.pop(_SETTINGS, "")
    before = os.environ.pop(_PATH_BEFORE, "")
    as_given = os.environ.get("PYTHONPATH", "")
    if settings:  # a sub-interpreter has none, and the variables are put right already
        os.environ.pop("PYTHONPATH", None)
        if before:
            os.environ["PYTHONPATH"] = before[1:]
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    sys.path_importer_cache.pop(here, None)
    ours = sys.modules.pop("sitecustomize", None)
    from importlib import import_module

    try:
        import_module("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if settings:
            try:
                _load(os.path.dirname(here), settings, before, as_given)
            except Exception as error:
                sys.stderr.write(f"tidy: the script cannot be recorded: {error!r}\n")
        # Python wants to find it there once more; watch.py takes it out.
        sys.modules.setdefault("sitecustomize", ours)  # type: ignore[arg-type]


def _load(folder: str, settings: str, before: str, as_given: str) -> None:
    """Load the recorder so that it keeps the built-in functions that there are now."""
    import builtins

    # Modules that Python has loaded by now; `importlib` would load more.
    from _frozen_importlib import ModuleSpec, module_from_spec
    from _frozen_importlib_external import FileFinder, SourceFileLoader

    as_they_are = dict(vars(builtins))

    class Loader(SourceFileLoader):
        def exec_module(self, module: ModuleType) -> None:
            module.__dict__["__builtins__"] = as_they_are
            super().exec_module(module)

    name = "_tidy_child"
    path = os.path.join(folder, "__init__.py")
    spec = ModuleSpec(name, Loader(name, path), origin=path, is_package=True)
    spec.submodule_search_locations = [folder]
    sys.path_importer_cache[folder] = FileFinder(folder, (Loader, [".py"]))
    sys.modules[name] = module_from_spec(spec)
    from _tidy_child.watch import begin  # type: ignore[import-not-found]

    begin(settings, {_SETTINGS: settings, _PATH_BEFORE: before, "PYTHONPATH": as_given})


_begin()
