"""The kinds of a host thread's time, and the names of events that say which kind it is."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Trace
from ..trace.location import is_user_file, parse_frame
from .work_kinds import OP_KINDS

Rows = NDArray[np.int64]

LOADING = "loading data"
WORKERS = "waiting for the loader's workers"
RECEIVING = "receiving batches from the loader's workers"
WAITING = "waiting for the device"
LAUNCHING = "launching"
PYTHON = "Python between ops"
OPTIMIZER = "optimizer's host work"
HOOK = "hooks' host work"
OTHER_PROCESS = "waiting for another process"
ALLOCATOR = "allocator calls"
COMPILING = "compiling and first calls"
COLLECTING = "garbage collection"
CPU_OP = "work on the CPU"
PREPROCESSING = "preprocessing on the CPU"
COPYING = "copies that hold the host"
RECORDING = "the recording itself"
GAP = "gaps between kernels"
LOST_IN_GRAPHS = "kernels of graphs that were not recorded"
LOST = "kernels that the profiler lost"
LEFT_OUT = "work that the file leaves out"
NOT_RECORDED = "work queued but none recorded"
UNKNOWN = "unknown"
# Where ranges of two kinds hold each other, the kind that stands first counts.
HOST_KINDS = (
    RECEIVING,
    WORKERS,
    LOADING,
    WAITING,
    LAUNCHING,
    PYTHON,
    OPTIMIZER,
    HOOK,
    OTHER_PROCESS,
    ALLOCATOR,
    COMPILING,
    COLLECTING,
    CPU_OP,
    PREPROCESSING,
    COPYING,
    RECORDING,
    GAP,
    LOST_IN_GRAPHS,
    LOST,
    LEFT_OUT,
    NOT_RECORDED,
    UNKNOWN,
    *OP_KINDS,
)
CODE_OF = {kind: code for code, kind in enumerate(HOST_KINDS)}
_NONE = -1

# Calls of runtimes and drivers, by what the host does in them: CUDA's, HIP's, the unified runtime
# and Level Zero below XPU, and MTIA's.
CALLS = (
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
RANGES = (
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
    (COMPILING, r".*/torch/_(inductor|dynamo)/(?!eval_frame).*(compile|convert_frame).*\(\d+\): .*"
     r"|.*triton/(compiler|runtime)/(compiler|autotuner)\.py\(\d+\): .*"
     r"|(dynamo|inductor|_compile)[\w.]*(_timed|_compile|compile_fx)\w*"),
    (COLLECTING, r"Python GC|gc_collect|<built-in function collect>|GC generation.*"),
)  # fmt: skip

# The same of frames, where they say it of Python only, and not of operators below them.
PYTHON_RANGES = (
    (OTHER_PROCESS, r"<built-in method wait of pybind11\w*\..*"  # of a collective, or of RPC
     r"|.*torch/distributed/distributed_c10d\.py\(\d+\): (monitored_)?barrier"),
    (PREPROCESSING, r"(.*/)?(PIL|cv2|av|imageio|skimage|librosa|soundfile|torchaudio|albumentations"
     r"|torchvision/(transforms|io)|tokenizers|sentencepiece|tiktoken|decord)/.*\.py\(\d+\): .*"
     r"|(.*/)?transformers/(.*/)?(image_(transforms|utils|processing)|tokenization_|video_utils"
     r"|video_processing|audio_utils|feature_extraction|processing_)\w*\.py\(\d+\): .*"
     r"|.*\.py\(\d+\): _*(pre_?process|tokeni[sz]e|(read|decode)_(image|jpeg|video))\w*"
     r"|<built-in method \w+ of (Imaging\w*|av\.|tokenizers\.|\w*Tokenizer).*>"),
)  # fmt: skip
_CALLS_HOOKS = re.compile(
    r".*torch/nn/modules/module\.py\(\d+\): (_call_impl|inner)"
    r"|autograd::engine::evaluate_function: .*"
).fullmatch


def codes_of_names(
    trace: Trace, table: tuple[tuple[str, str], ...], rows: Rows | slice
) -> NDArray[np.int8]:
    """For each name that rows have the code of the first entry that fits it wholly, or -1."""
    entries = (f"(?P<_{CODE_OF[kind]}>{text})" for kind, text in table)
    fits = re.compile("|".join(entries), re.IGNORECASE).fullmatch
    codes = np.full(max(len(trace.names), 1), _NONE, np.int8)
    for name in np.flatnonzero(np.bincount(trace.name_id[rows])).tolist():
        match = fits(trace.names[name])
        if match is not None and match.lastgroup is not None:
            codes[name] = int(match.lastgroup[1:])
    return codes


def calls_of_hooks(trace: Trace) -> NDArray[np.bool_]:
    """For each tree row whether it is a hook's, by who calls it.

    PyTorch calls the hooks of a module where it calls `forward`, and those of a tensor in the
    engine, below no operator's own function.
    """
    count = trace.tree_count
    is_frame = trace.kind[:count] == EventKind.PyCall
    frames = np.flatnonzero(is_frame)
    frames = frames[trace.parent[frames] >= 0]
    used = np.flatnonzero(np.bincount(trace.name_id[frames]))
    own = np.zeros(len(trace.names), bool)
    own[used] = [_may_be_hook(trace.names[name]) for name in used.tolist()]
    frames = frames[own[trace.name_id[frames]]]
    callers = np.flatnonzero(np.bincount(trace.name_id[trace.parent[frames]]))
    calls = np.zeros(len(trace.names), bool)
    calls[callers] = [_CALLS_HOOKS(trace.names[name]) is not None for name in callers.tolist()]
    result = np.zeros(count, bool)
    result[frames[calls[trace.name_id[trace.parent[frames]]]]] = True
    # What wraps a `forward` is none.
    forwards = trace.parent[trace.rows_named("*: forward")]
    result[forwards[(forwards >= 0) & (forwards < count)]] = False
    return result


def _may_be_hook(name: str) -> bool:
    frame = parse_frame(name)
    return frame is not None and is_user_file(frame.file) and frame.function != "forward"
