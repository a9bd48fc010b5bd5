"""Files and functions of PyTorch and of tidy.runtime, as Python frames name them.

A frame is written `file(line): function`. PyTorch's files are facts about PyTorch's releases. In
tidy.runtime a function is known by its name alone, so that moving it to another file hides nothing.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from tidy.trace.location import Location, is_user_file, parse_frame

# Where PyTorch keeps what users call to synchronise; its other files call that on their own, as the
# capture of a graph and the emptying of the cache do.
_FRONT_DOORS = re.compile(r"(^|/)torch/(cuda|xpu|accelerator|_streambase|_compile|_dynamo)\b")
_CALL_IT_THEMSELVES = re.compile(
    r"(^|/)torch/(cuda|xpu|accelerator)/(graphs|memory|profiler|nvtx)\b"
)
_OF_RUNTIME = re.compile(r"(^|/)tidy/runtime/")
_OF_FRAMEWORK = re.compile(r"(^|/)(torch|tidy/runtime)/")
EMPTY_CACHE = re.compile(
    r"(.*/)?(torch/(cuda|accelerator)/memory\.py|tidy/runtime/.*)\(\d+\): empty_cache"
)
# `Module.to()`, `Module.cuda()` and their kin.
MOVES_A_MODULE = re.compile(r"(^|/)torch/nn/modules/module\.py\(\d+\): _apply$")
# What calls the autograd engine: operators right below are C++'s.
RUNS_BACKWARD = re.compile(
    r"(.*/)?torch/(_tensor|autograd/(__init__|graph))\.py\(\d+\): (backward|grad|_engine_run.*)"
    r"|<built-in method run_backward of .*"
)
# What a DataLoader marks while it fetches a batch, in this process or from its workers.
FETCH = "enumerate(DataLoader)#*"
FETCH_ALONE = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
FETCH_BY_WORKERS = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
DATA_LOADER = "*torch/utils/data/dataloader.py(*): "
DATA_SETS = "torch/utils/data/"
_OWNERS = re.compile(
    r"(^|/)torch/((?P<PROFILER>profiler|autograd/profiler)"
    r"|(?P<GRAD_SCALER>(cuda/)?amp/grad_scaler\.py)|(?P<OPTIMIZER>optim/))"
)


class Owner(Enum):
    """The owners of code."""

    USER = "user"
    OPTIMIZER = "optimizer"
    GRAD_SCALER = "gradient scaler"
    PROFILER = "profiler"


@lru_cache(maxsize=1 << 12)
def owner_by_name(name: str) -> Owner | None:
    """Tell whose code an event of this name is; None where the name does not tell."""
    if name.startswith("Optimizer.step#"):
        return Owner.OPTIMIZER
    frame = parse_frame(name)
    if frame is None:
        return None
    known = _OWNERS.search(frame.file)
    if known is not None:
        return next(Owner[name] for name, text in known.groupdict().items() if text)
    return Owner.USER if is_user_file(frame.file) else None


def is_front_door(frame: Location) -> bool:
    """Tell whether a function of PyTorch or tidy.runtime is what users call to synchronise."""
    if _OF_RUNTIME.search(frame.file):
        return frame.function == "synchronize"
    if _CALL_IT_THEMSELVES.search(frame.file):
        return False
    return _FRONT_DOORS.search(frame.file) is not None


def is_of_framework(file: str) -> bool:
    """Tell whether a file is PyTorch's or tidy.runtime's."""
    return _OF_FRAMEWORK.search(file) is not None and not is_user_file(file)
