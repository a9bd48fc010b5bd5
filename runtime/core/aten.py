"""Every operator by its name, for code that calls them: `aten.mm(a, b)`.

`tidy.runtime.ops` puts the operators here, so that rooms below it can call them too.
"""

from __future__ import annotations

from typing import Any


class Aten:
    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no operator {name!r} is declared")


aten = Aten()
