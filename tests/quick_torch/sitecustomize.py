"""PyTorch without its compiler, for scripts that don't compile: which take thrice as long with it.

PyTorch itself imports decompositions, torch.export and more, the first optimizer of a process
torch._dynamo, and the first profiler torch._inductor: 2.5 of the 4 s that a script of a few steps
takes. Here they come once something else of them is asked for than these do.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

_DECOMPOSITIONS = "torch._meta_registrations"


class _Late(ModuleType):
    """A module that has the given attributes, and imports itself for any other."""

    def __init__(self, name: str, **known: Any) -> None:
        super().__init__(name)
        vars(self).update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # asked of each module there is
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            # They need each other, and the decompositions: all come at once.
            for each in [key for key, value in sys.modules.items() if isinstance(value, _Late)]:
                del sys.modules[each]
            sys.meta_path.remove(_WithoutDecompositions)
            sys.modules.pop(_DECOMPOSITIONS, None)
            import_module(_DECOMPOSITIONS)
        return getattr(import_module(self.__name__), name)


class _WithoutDecompositions:
    """Finds and loads the module that registers them: of what it does eager PyTorch needs this.

    From PyTorch's first module until then the garbage collector rests, which would find nothing,
    and it never looks at what there is by then: each pass over it, of which the end of a process
    has several, takes a tenth of a second.
    """

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        if name.startswith("torch.") and _DECOMPOSITIONS not in sys.modules:
            gc.disable()
        return ModuleSpec(name, _WithoutDecompositions) if name == _DECOMPOSITIONS else None

    @staticmethod
    def create_module(_spec: ModuleSpec) -> None:
        """The usual one: nobody asks it for anything."""

    @staticmethod
    def exec_module(_module: ModuleType) -> None:
        torch = sys.modules["torch"]
        opaque = import_module("torch._opaque_base")
        torch._C._set_generator_metaclass(opaque.OpaqueBaseMeta)
        gc.freeze()
        gc.enable()


def _as_it_is(function: Any = None, recursive: bool = True, **_: Any) -> Any:
    """`torch._dynamo.disable`, where nothing compiles."""
    return function if function is not None else _as_it_is


def _prepare() -> None:
    config = _Late("torch._inductor.config", triton=SimpleNamespace(cudagraphs=False))
    of_compiler = _Late("torch._dynamo.config", error_on_nested_fx_trace=True)  # for checkpoints
    compiler = _Late(
        "torch._dynamo",
        config=of_compiler,
        disable=_as_it_is,
        graph_break=lambda *_, **__: None,
    )
    inductor = _Late("torch._inductor", config=config)
    others = ("torch.distributions", "torch.export", "torch.quantization")
    for module in (config, inductor, of_compiler, compiler, *map(_Late, others)):
        sys.modules[module.__name__] = module
    sys.meta_path.insert(0, _WithoutDecompositions)


_prepare()
