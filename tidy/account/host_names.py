"""The names of host events that say of which kind the time in them is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Rows, Trace
from ..trace.location import is_user_file, parse_frame
from .host_kinds import (
    ALLOCATOR,
    CODE_OF,
    COLLECTING,
    COMPILING,
    COPYING,
    HOOK,
    LOADING,
    OPTIMIZER,
    OTHER_PROCESS,
    PREPROCESSING,
    WAITING,
    WORKERS,
)

_NONE = -1


class HostNames:
    """Names by kind: the first entry that fits a name wholly, in capitals or not, says it.

    Args:
        entries: kinds and expressions.
        words: in small letters; a name that fits has one of them. To look for these in all names
            first is many times faster than to try the expressions on each. None: on each.
    """

    def __init__(self, *entries: tuple[str, str], words: Sequence[str] | None = None) -> None:
        parts = (f"(?P<_{CODE_OF[kind]}>{text})" for kind, text in entries)
        self._fits = re.compile("|".join(parts), re.IGNORECASE).fullmatch
        self._words = words

    def codes(self, trace: Trace, rows: Rows | slice) -> NDArray[np.int8]:
        """Return for each name that rows have the code of its kind, or -1; shape (names,)."""
        codes = np.full(max(len(trace.names), 1), _NONE, np.int8)
        used = np.flatnonzero(np.bincount(trace.name_id[rows])).tolist()
        names = [trace.names[name] for name in used]
        chosen = range(len(names)) if self._words is None else _holding(names, self._words)
        for each in chosen:
            match = self._fits(names[each])
            if match is not None and match.lastgroup is not None:
                codes[used[each]] = int(match.lastgroup[1:])
        return codes


def _holding(names: Sequence[str], words: Iterable[str]) -> set[int]:
    """Which of the names hold one of the words, in capitals or not."""
    lower = [name.lower() for name in names]
    text = "\n".join(lower)
    starts = list(accumulate((len(name) + 1 for name in lower), initial=0))
    return {bisect_right(starts, at) - 1 for word in words for at in _places(text, word)}


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


# Calls of runtimes and drivers, by what the host does in them: CUDA's, HIP's, the unified runtime
# and Level Zero below XPU, and MTIA's.
CALLS = HostNames(
    (WAITING, r"\w*Synchronize\w*|(cuda|hip)EventElapsedTime"
     r"|(ur|pi)(EventWait|EventsWait|QueueFinish)\w*"),
    (COPYING, r"(cuda|cu|hip)Memcpy\w*|(ur|pi)\w*Enqueue\w*Mem(cpy|Buffer(Read|Write))\w*"
     r"|zeCommandListAppendMemoryCopy\w*|enqueueCommand memcpy\w*"),
    (ALLOCATOR, r"(cuda|hip)(Malloc|Free|HostAlloc|HostFree|HostRegister)\w*"
     r"|cuMem(Create|Map|Unmap|Release|AddressReserve|SetAccess|Alloc|Free)\w*"
     r"|(ur|pi)\w*USM\w*(Alloc|Free)\w*|zeMem(Alloc|Free)\w*"),
    (COMPILING, r"(cu|hip|cuda)(Module|Library|Kernel|Link)\w*Load\w*|(cu|cuda|hip)Init\w*"
     r"|(cuda|hip)(GetDeviceProperties|FuncGetAttributes|DeviceSetLimit)\w*"
     r"|(cu|cuda)(ModuleGet|LibraryGet)\w*|(ur|pi)(Program|KernelCreate)\w*"
     r"|ze(ModuleCreate|ModuleDynamic|KernelCreate)\w*"),
)  # fmt: skip
# Host ranges and frames that say what everything inside them is.
RANGES = HostNames(
    (WORKERS, r"enumerate\(DataLoader\)#_MultiProcessing.*"),
    (LOADING, r"enumerate\(Data(Loader|Pipe)\)#.*"
     r"|.*/((?<=utils/)|(?<=runtime/))data/dataloader\.py\(\d+\): __next__"),
    (OPTIMIZER, r"Optimizer\.(step|zero_grad)#.*|.*/clip_grad\.py\(\d+\): .*"),
    (HOOK, r"FullyShardedDataParallel\._(pre|post)_\w+|FSDP::(root_)?(pre|post)_\w+.*"
     r"|.*\.py\(\d+\): (?!(un)?pack_|register_|remove_|clear_)\w*(?<!except)hook(_fn)?"),
    (OTHER_PROCESS, r"(.*/)?subprocess\.py\(\d+\): _?(wait|communicate|try_wait)"
     r"|(.*/)?multiprocessing/(connection|process|popen_\w+|pool|queues|synchronize)"
     r"\.py\(\d+\): _?(wait|poll|join|get|recv\w*|acquire)"
     r"|<built-in function (waitpid|wait4|waitid|system)>"),
    # What else stands in these files runs code that is compiled.
    (COMPILING, r"(.*/)?torch/_(inductor|dynamo)/(?!eval_frame).*(compile|convert_frame)"
     r".*\(\d+\): (?!(run|(runtime_)?wrapper|<\w+>)$).*"
     r"|.*triton/(compiler|runtime)/(compiler|autotuner)\.py\(\d+\): "
     r"(?!(run|runner|launch_metadata|all_kwargs|<\w+>|_*getattribute_*|_*getitem_*)$).*"
     r"|(dynamo|inductor|_compile)[\w.]*(_timed|_compile|compile_fx)\w*|.* \(dynamo_timed\)"),
    (COLLECTING, r"Python GC|gc_collect|<built-in function collect>|GC generation.*"),
    words=("enumerate(data", "/dataloader.py", "optimizer.", "clip_grad.py", "parallel._", "fsdp::",
           "hook", "subprocess.py", "multiprocessing/", "function wait", "function system",
           "inductor", "dynamo", "triton/", "_compile", "gc_collect", "python gc",
           "function collect", "gc generation"),
)  # fmt: skip

# The same of frames, where they say it of Python only, and not of operators below them.
PYTHON_RANGES = HostNames(
    (OTHER_PROCESS, r"<built-in method wait of pybind11\w*\..*"  # of a collective, or of RPC
     r"|(.*/)?concurrent/futures/_base\.py\(\d+\): (result|exception|wait)"
     r"|.*torch/distributed/distributed_c10d\.py\(\d+\): (monitored_)?barrier"),
    (PREPROCESSING, r"(.*/)?(PIL|cv2|av|imageio|skimage|librosa|soundfile|torchaudio|albumentations"
     r"|torchvision/(transforms|io)|tokenizers|sentencepiece|tiktoken|decord)/.*\.py\(\d+\): .*"
     r"|(.*/)?transformers/(.*/)?(image_(transforms|utils|processing)|tokenization_|video_utils"
     r"|video_processing|audio_utils|feature_extraction|processing_)\w*\.py\(\d+\): .*"
     r"|.*\.py\(\d+\): _*(pre_?process|tokeni[sz]e|(read|decode)_(image|jpeg|video))\w*"
     r"|<built-in method \w+ of (Imaging\w*|av\.|tokenizers\.|\w*Tokenizer).*>"),
    words=("of pybind11", "futures/_base.py", "distributed_c10d.py", "pil/", "cv2/", "av/",
           "imageio/", "skimage/", "librosa/", "soundfile/", "torchaudio/", "albumentations/",
           "torchvision/", "sentencepiece/", "tiktoken/", "decord/", "image_", "video_",
           "audio_utils", "feature_extraction", "/processing_", "preprocess", "pre_process",
           "tokeni", "read_image", "read_jpeg", "read_video", "decode_image", "decode_jpeg",
           "decode_video", "of imaging", "of av."),
)  # fmt: skip
# Frames that may wait for another thread; others do something themselves.
MAY_WAIT = re.compile(
    r"<built-in method (run_backward|wait|acquire) .*"
    r"|(.*/)?(torch/(autograd|distributed|nn/parallel)/.*|threading)\.py\(\d+\): .*"
    r"|(.*/)?torch/_tensor\.py\(\d+\): backward"
).fullmatch
_CALLS_HOOKS = re.compile(
    r".*torch/nn/modules/module\.py\(\d+\): (_call_impl|inner)"
    r"|autograd::engine::evaluate_function: .*"
).fullmatch


def calls_of_hooks(trace: Trace) -> NDArray[np.bool_]:
    """Tell for each tree row whether it is a hook's, by who calls it.

    PyTorch calls the hooks of a module where it calls `forward`, and those of a tensor in the
    engine, below no operator's own function.
    """
    count = trace.tree_count
    is_frame = trace.kind[:count] == EventKind.PyCall
    frames = np.flatnonzero(is_frame)
    frames = frames[trace.parent[frames] >= 0]
    callers = names_that(_CALLS_HOOKS, trace, trace.parent[frames])
    frames = frames[callers[trace.name_id[trace.parent[frames]]]]
    frames = frames[names_that(_may_be_hook, trace, frames)[trace.name_id[frames]]]
    result = np.zeros(count, bool)
    result[frames] = True
    # What wraps a `forward` is none.
    forwards = trace.parent[trace.rows_named("*: forward")]
    result[forwards[(forwards >= 0) & (forwards < count)]] = False
    return result


def names_that(
    holds: Callable[[str], object], trace: Trace, rows: NDArray[np.signedinteger]
) -> NDArray[np.bool_]:
    """Tell for each name whether it is one of these rows' and something holds of it."""
    result = np.zeros(len(trace.names), bool)
    used = np.flatnonzero(np.bincount(trace.name_id[rows]))
    result[used] = [bool(holds(trace.names[name])) for name in used.tolist()]
    return result


def _may_be_hook(name: str) -> bool:
    frame = parse_frame(name)
    return frame is not None and is_user_file(frame.file) and frame.function != "forward"
