"""torch.nn.functional's names: those of the operators that are declared for it."""

from typing import Any

from ..ops.make import PUBLIC


def __getattr__(name: str) -> Any:
    globals().update(PUBLIC["nn"])  # the next time they are found without this
    if name in PUBLIC["nn"]:
        return PUBLIC["nn"][name]
    raise AttributeError(f"tidy.runtime.nn.functional has no {name!r}")
