"""NVIDIA's CUPTI, which makes each launch slower for as long as a process has it loaded.

Kineto keeps it after a profiler has stopped, unless TEARDOWN_CUPTI is 1 in the environment then. It
must not be while one starts: what was to be recorded would be lost.
"""

from __future__ import annotations

from contextlib import contextmanager

from .kept import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_VARIABLE = "TEARDOWN_CUPTI"
# Before it, a process that launched CUDA graphs crashed when CUPTI was taken up again.
_SOUND_FROM = (12, 6)


@contextmanager
def may_be_let_go(torch: Any) -> Iterator[None]:
    """Let a profiler that stops meanwhile let go of CUPTI.

    What the script, or PyTorch for it, has set itself is left as it is. Programs that the script
    starts later do not see ours.
    """
    if _VARIABLE in os.environ or not _is_sound(torch):
        yield
        return
    os.putenv(_VARIABLE, "1")
    try:
        yield
    finally:
        if _VARIABLE not in os.environ:
            os.unsetenv(_VARIABLE)


def _is_sound(torch: Any) -> bool:
    """Whether it has CUDA, and one that can."""
    version = getattr(getattr(torch, "version", None), "cuda", None)
    numbers = str(version).split(".")[:2]
    return all(each.isdigit() for each in numbers) and tuple(map(int, numbers)) >= _SOUND_FROM
