"""Objects of ours in processes that are started anew (spawn, forkserver), which have no tidy.

There this folder is a package of another name, of which the module of an object's class is loaded.
"""

from __future__ import annotations

from typing import Any

from .kept import os

_TEXT = """
def load(folder, module, name):
    import os, sys
    from importlib import import_module, util
    package = "_tidy_in_worker"
    if package not in sys.modules:
        path = os.path.join(folder, "__init__.py")
        spec = util.spec_from_file_location(package, path, submodule_search_locations=[folder])
        sys.modules[package] = util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[package])
    return getattr(import_module(f"{package}.{module}"), name)
"""
_MADE = "[exec(text, space), space['load'](*place)(*given)][1]"


def made_anew(one: object, *given: Any) -> Any:
    """Return what `__reduce__` is to return for an object that is made of what is `given`."""
    kind, folder = type(one), os.path.dirname(os.path.abspath(__file__))
    place = folder, kind.__module__.rpartition(".")[2], kind.__name__
    return eval, (_MADE, {"text": _TEXT, "space": {}, "place": place, "given": given})
