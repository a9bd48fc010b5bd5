"""Begins the recording, before Python runs the script.

Python imports `sitecustomize` when it starts. That leaves everything else to Python itself: the
script runs as under `python script.py`, with no frame of ours below its own. What gave this file
its place (two variables, an entry of sys.path, its name) is put back as it was, and a
`sitecustomize` that it hides is imported.
"""

from __future__ import annotations

import os
import sys

_SETTINGS, _PATH_BEFORE = "_TIDY_RUN_SETTINGS", "_TIDY_RUN_PYTHONPATH"


def _begin() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    settings = os.environ.pop(_SETTINGS, "")
    before = os.environ.pop(_PATH_BEFORE, "")
    as_given = os.environ.get("PYTHONPATH", "")
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
            _load(os.path.dirname(here), settings, before, as_given)
        # Python wants to find it there once more; watch.py takes it out.
        sys.modules.setdefault("sitecustomize", ours)  # type: ignore[arg-type]


def _load(folder: str, settings: str, before: str, as_given: str) -> None:
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_loader

    name = "_tidy_child"
    path = os.path.join(folder, "__init__.py")
    spec = spec_from_loader(name, SourceFileLoader(name, path), is_package=True)
    if spec is not None:
        sys.modules[name] = module_from_spec(spec)
        from _tidy_child.begin import begin  # type: ignore[import-not-found]

        begin(settings, {_SETTINGS: settings, _PATH_BEFORE: before, "PYTHONPATH": as_given})


_begin()
