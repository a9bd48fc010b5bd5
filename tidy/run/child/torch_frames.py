"""Open frames, which tell of PyTorch: operators that may be open, and other threads."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from .kept import os, thread
from .lines import user_files

# Files and folders of PyTorch whose functions are called, and call others, in no operator.
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
# What PyTorch does in threads of its own: pinning batches, and compiling.
_ITS_OWN = (("utils", "data", "_utils", "pin_memory.py"), ("_inductor", ""), ("_dynamo", ""))
_THREADING = os.path.join("", "threading.py")


class TorchFrames:
    """Looks at the frames of threads.

    Args:
        torch: the module.
        ours: the folder whose files are not the user's.

    Attributes:
        others: threads that were seen in functions of PyTorch, beside the one that is recorded.
    """

    def __init__(self, torch: Any, ours: str = "") -> None:
        self._is_users: Any = user_files(ours)
        self._folder = os.path.join(os.path.dirname(torch.__file__), "")
        self._optimizers = os.path.join(self._folder, "optim", "")
        self._between_ops, self._its_own = (
            tuple(self._folder + os.path.join(*each) for each in places)
            for places in (_BETWEEN_OPS, _ITS_OWN)
        )
        autograd = getattr(torch._C, "_autograd", None)
        self._hooks = getattr(autograd, "_top_saved_tensors_default_hooks", None)
        self.others: set[int] = set()

    def are_between_ops(self, frame: FrameType | None) -> bool:
        """Tell whether no operator can be open below this frame, its thread's innermost.

        An operator writes its end into the event that it began, and where the profiler was stopped
        meanwhile and another one started, that is memory which was freed: the process crashes.
        Operators that call Python are those that `__torch_dispatch__` handles (as all do while
        `torch.compile` traces a model), autograd functions and operators written in Python, and
        those whose saved tensors are packed by a hook. Each but the last shows in the frames.
        """
        if self._hooks is not None and self._hooks(False) is not None:
            return False
        while frame is not None:
            code = frame.f_code
            is_torch = code.co_filename.startswith(self._folder)
            if is_torch and not code.co_filename.startswith(self._between_ops):
                return False
            if code.co_name == _DISPATCH:
                return False
            frame = frame.f_back
        return True

    def are_in_optimizer(self, frame: FrameType | None) -> bool:
        """Tell whether an optimizer works below this frame, its thread's innermost.

        While it calls the script, as LBFGS does for a loss, the script works and not it.
        """
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(self._optimizers):
                return True
            if self._is_users[file]:
                return False
            frame = frame.f_back
        return False

    def look_for_others(self, recorded: int) -> None:
        """Look where all threads are but the one with this identifier.

        Nothing is hooked into PyTorch for that. One that is within a function of PyTorch's runs
        ops, now or soon.
        """
        here = thread.get_ident()
        self.others.discard(recorded)
        if here != recorded:
            self.others.add(here)  # an optimizer that steps there
        frames = sys._current_frames()
        # A frame that has itself would keep all that the script's functions hold until Python
        # collects garbage.
        del frames[here]
        for ident, frame in frames.items():
            if ident != recorded and self._is_in_torch(frame):
                self.others.add(ident)

    def _is_in_torch(self, frame: FrameType | None) -> bool:
        """Tell whether a thread that Python started is within a function of PyTorch's."""
        found, name = False, ""
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(self._its_own):
                return False
            found = found or name.startswith(self._folder)
            frame = frame.f_back
        return found and name.endswith(_THREADING)
