"""Our own functions that torch.compile is to leave alone.

Until Python 3.11 a trace function is called with the value that a function returns. If that is a
tensor, the compiler takes our function for one to compile, and with fullgraph=True fails in it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from types import CodeType, FunctionType
from typing import Any

_PACKAGE = f"{__package__}."
_CACHED = type(cache(len))


def leave_uncompiled(torch: Any) -> None:
    """Tell the compiler of the framework, if it has one, to run what traces lines as it is."""
    with suppress(AttributeError, TypeError, ValueError):  # another version has other names for it
        eval_frame = torch._C._dynamo.eval_frame
        skip = getattr(eval_frame, "skip_code", None)
        if skip is None:
            action = eval_frame._FrameAction.SKIP
            strategy = eval_frame._FrameExecStrategy(action, action)  # of what it calls, too

            def skip(code: CodeType) -> None:
                eval_frame.set_code_exec_strategy(code, strategy)

        for name, module in list(sys.modules.items()):
            if name.startswith(_PACKAGE):
                for code in _codes(vars(module), vars(module)):
                    skip(code)


def _codes(names: dict[str, Any], module: dict[str, Any]) -> Iterator[CodeType]:
    """The code of all functions among these names that a module defines, those in classes too."""
    for value in names.values():
        if isinstance(value, type) and value.__module__ == module["__name__"]:
            yield from _codes(dict(vars(value)), module)
        for function in _functions(value):
            # What wraps one of ours may be a library's, which others use as well.
            if function.__globals__ is module:
                yield from _within(function.__code__)


def _functions(value: Any) -> Iterator[FunctionType]:
    """The functions that a function, a method of a class or a property is made of, each once."""
    known, left = set[int](), [value]
    while left:
        part = left.pop()
        if id(part) in known:
            continue
        known.add(id(part))
        if isinstance(part, property):
            left += [part.fget, part.fset]
        elif isinstance(part, (staticmethod, classmethod)):
            left.append(part.__func__)
        elif isinstance(part, _CACHED):
            left.append(part.__wrapped__)
        elif isinstance(part, FunctionType):
            yield part
            left += [cell.cell_contents for cell in part.__closure__ or ()]  # what it decorates


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _within(each)
