"""Our own functions that torch.compile is to leave alone.

Until Python 3.11 a trace function is called with the value that a function returns. If that is a
tensor, the compiler takes our function for one to compile, and with fullgraph=True fails in it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any

_PACKAGE = f"{__package__}."


def leave_uncompiled(torch: Any) -> None:
    """Tell the compiler of the framework, if it has one, to run what traces lines as it is."""
    with suppress(AttributeError, TypeError):  # another version has other names for it
        eval_frame = torch._C._dynamo.eval_frame
        skip = getattr(eval_frame, "skip_code", None)
        if skip is None:
            action = eval_frame._FrameAction.SKIP
            strategy = eval_frame._FrameExecStrategy(action, action)  # of what it calls, too

            def skip(code: CodeType) -> None:
                eval_frame.set_code_exec_strategy(code, strategy)

        for name, module in list(sys.modules.items()):
            for code in _codes(vars(module)) if name.startswith(_PACKAGE) else ():
                skip(code)


def _codes(names: Any) -> Iterator[CodeType]:
    """The code of all functions and classes of ours among these names."""
    for value in names.values():
        if not str(getattr(value, "__module__", "")).startswith(_PACKAGE):
            continue
        if isinstance(value, type):
            yield from _codes(vars(value))
        elif isinstance(value, FunctionType):
            yield from _within(value.__code__)


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _within(each)
