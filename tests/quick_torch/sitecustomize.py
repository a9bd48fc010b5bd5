"""PyTorch without its compiler, for scripts that don't compile: which take twice as long with it.

The first optimizer of a process imports torch._dynamo, and the first profiler torch._inductor: 2 of
the 4 s that a script of a few steps takes. Here they come once something else of them is asked for
than these two do.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any


class _Late(ModuleType):
    """A module that has the given attributes, and imports itself for any other."""

    def __init__(self, name: str, **known: Any) -> None:
        super().__init__(name)
        vars(self).update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # asked of each module there is
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            for each in [key for key, value in sys.modules.items() if isinstance(value, _Late)]:
                if each == self.__name__ or each.startswith(self.__name__ + "."):
                    del sys.modules[each]
        return getattr(import_module(self.__name__), name)


def _as_it_is(function: Any = None, recursive: bool = True, **_: Any) -> Any:
    """`torch._dynamo.disable`, where nothing compiles."""
    return function if function is not None else _as_it_is


def _prepare() -> None:
    config = _Late("torch._inductor.config", triton=SimpleNamespace(cudagraphs=False))
    compiler = _Late("torch._dynamo", disable=_as_it_is, graph_break=lambda *_, **__: None)
    for module in (config, _Late("torch._inductor", config=config), compiler):
        sys.modules[module.__name__] = module


_prepare()
