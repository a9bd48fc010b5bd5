"""Whether an operator of PyTorch's may be open below the Python that runs.

An operator writes its end into the event that it began, and where the profiler was stopped
meanwhile and another one started, that is memory which was freed: the process crashes. Operators
that call Python are those that `__torch_dispatch__` handles (as all do while `torch.compile` traces
a model), autograd functions and operators written in Python, and those whose saved tensors are
packed by a hook. Each but the last shows in the frames that are open.
"""

from __future__ import annotations

from .kept import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

# Files and folders of PyTorch's whose functions are called, and call others, in no operator.
_BETWEEN_OPS = (
    ("nn", "modules", ""),
    ("nn", "parallel", "data_parallel.py"),
    ("nn", "functional.py"),
    ("optim", ""),
    ("amp", ""),
    ("utils", "data", ""),
    ("utils", "_contextlib.py"),
    ("autograd", "grad_mode.py"),
    ("autograd", "profiler.py"),
    ("profiler", ""),
)
_DISPATCH = "__torch_dispatch__"


class OpFrames:
    """Looks at the frames of a thread.

    Args:
        torch: the module.
    """

    def __init__(self, torch: Any) -> None:
        self._folder = os.path.join(os.path.dirname(torch.__file__), "")
        self._known = tuple(self._folder + os.path.join(*each) for each in _BETWEEN_OPS)
        autograd = getattr(torch._C, "_autograd", None)
        self._hooks = getattr(autograd, "_top_saved_tensors_default_hooks", None)

    def are_between_ops(self, frame: FrameType | None) -> bool:
        """Whether no operator can be open below this frame, its thread's innermost."""
        if self._hooks is not None and self._hooks(False) is not None:
            return False
        while frame is not None:
            code = frame.f_code
            is_torch = code.co_filename.startswith(self._folder)
            if is_torch and not code.co_filename.startswith(self._known):
                return False
            if code.co_name == _DISPATCH:
                return False
            frame = frame.f_back
        return True
