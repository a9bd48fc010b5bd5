"""torch.compiler's names: nothing is compiled, so what it is given stays as it is."""

from __future__ import annotations

from typing import Any

from .compiling import compile, ignore

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin"]
__all__ += ["disable", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends"]
__all__ += ["reset", "set_stance"]


def disable(fn: Any = None, recursive: bool = True, **_: Any) -> Any:
    """The function, or what gives it as a decorator."""
    return (lambda one: one) if fn is None else fn


allow_in_graph = assume_constant_result = ignore


def is_compiling() -> bool:
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """There is nothing to forget."""


cudagraph_mark_step_begin = reset


def list_backends(*_: Any) -> list[str]:
    return []


class set_stance:
    """Taken: as a call, a context or a decorator."""

    def __init__(self, stance: str = "default", **_: Any) -> None:
        self.stance = stance

    def __call__(self, fn: Any) -> Any:
        return fn

    def __enter__(self) -> set_stance:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing was entered."""
