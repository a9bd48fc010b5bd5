"""Functions of libraries that the rules and the account look for, and nothing else of libraries.

A call of a module is logged as that of the module: its class, and which one it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

USER, LIBRARY, MODULE, MODULE_CALL = 0, 1, 2, 3  # kinds of code in a log

_STEPS = ("_single_tensor_", "_multi_tensor_", "_fused_")
# The end of a file's path: the beginnings of names of functions in it.
_WANTED: dict[str, tuple[str, ...]] = {
    "torch/_dynamo/convert_frame.py": ("_compile",),
    "torch/_inductor/compile_fx.py": ("compile_fx",),
    "torch/__init__.py": ("set_default_dtype", "set_default_tensor_type"),
    "torch/_tensor.py": ("backward", "__deepcopy__"),
    "torch/accelerator/__init__.py": ("synchronize",),
    "torch/accelerator/memory.py": ("empty_cache",),
    "torch/amp/grad_scaler.py": ("scale", "unscale_", "step", "_maybe_opt_step", "update"),
    "torch/cuda/__init__.py": ("synchronize",),
    "torch/cuda/amp/grad_scaler.py": ("scale", "unscale_", "step", "_maybe_opt_step", "update"),
    "torch/cuda/memory.py": ("empty_cache",),
    "torch/cuda/streams.py": ("synchronize",),
    "torch/nn/modules/module.py": ("zero_grad", "_apply"),
    "torch/nn/parameter.py": ("__deepcopy__",),
    "torch/nn/utils/clip_grad.py": ("clip_grad",),
    "torch/optim/optimizer.py": ("zero_grad", "__init__"),
    "torch/optim/swa_utils.py": ("update_parameters",),
    "torch/serialization.py": ("save",),
    "torch/utils/data/_utils/fetch.py": ("fetch",),
    "torch/utils/data/dataloader.py": (
        "__iter__",
        "__next__",
        "_get_iterator",
        "check_worker_number_rationality",
        "__init__",
    ),
    "torch/utils/tensorboard/writer.py": ("add_",),
    "torch/xpu/__init__.py": ("synchronize",),
    "torch/xpu/streams.py": ("synchronize",),
    "triton/compiler/compiler.py": ("compile",),
    "triton/runtime/autotuner.py": ("run", "_bench"),
}
_OPTIMIZERS = "torch/optim/"


class LibraryFunctions(dict[str, tuple[str, ...]]):
    """By file, as code objects name it, how the names begin of the functions that are wanted.

    Args:
        made: a `MadeModules`, which is told of conversions and of default dtypes.
    """

    def __init__(self, made: Any = None) -> None:
        super().__init__()
        self._made = made
        nn = getattr(sys.modules.get("torch"), "nn", None)
        call = vars(getattr(nn, "Module", object)).get("__call__")
        self.module_call: CodeType | None = getattr(call, "__code__", None)
        self._modules: dict[tuple[str, int], tuple[str, int]] = {}
        self.on_module: Callable[[FrameType], object] | None = None  # gets the frame of each call

    def __missing__(self, file: str) -> tuple[str, ...]:
        end = in_package(file)
        wanted = _WANTED.get(end, ())
        if end.startswith(_OPTIMIZERS):
            wanted += _STEPS
        self[file] = wanted
        return wanted

    def wants(self, code: CodeType) -> bool:
        """Tell whether calls of this function are logged."""
        wanted = self[code.co_filename]
        return bool(wanted) and (code is self.module_call or code.co_name.startswith(wanted))

    def called(self, frame: FrameType) -> Any:
        """Return what is called in a frame of a function that is wanted: its code, or the
        module.
        """
        code = frame.f_code
        if code is not self.module_call:
            if code.co_name == "_apply" and self._made is not None:
                self._made.converted(frame.f_locals.get("self"))
            elif code.co_name.startswith("set_default_") and self._made is not None:
                self._made.default_set()
            return code
        if self.on_module is not None:
            self.on_module(frame)
        module = frame.f_locals.get("self")
        key = type(module).__name__, id(module)
        return self._modules.setdefault(key, key)


def in_package(file: str) -> str:
    """Return a file as Kineto writes it, `torch/optim/sgd.py`; "" for one of another package."""
    path = file.replace(os.sep, "/")
    for package in ("/torch/", "/triton/"):
        _, found, rest = path.rpartition(package)
        if found:
            return package[1:] + rest
    return ""
