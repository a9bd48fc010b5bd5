"""Functions of Python, told by name: they prepare inputs, or wait for others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import compress

from tidy.trace import Event, Intervals, Trace
from tidy.trace.location import is_user_file, parse_frame

from ..device.launches import outermost

# Libraries whose work on the host is the preparation of inputs.
_FILES = re.compile(
    r"(^|/)(PIL|cv2|torchvision/(transforms|io)|torchaudio|albumentations|imageio|skimage|librosa"
    r"|soundfile|decord|sentencepiece|tiktoken|tokenizers|nltk|spacy|kornia|webdataset)/"
    r"|(^|/)(tokenization|image_processing|video_processing|feature_extraction)_\w+\.py\("
    r"|(^|/)(image_transforms|image_utils|tokenization_utils\w*)\.py\("
)
_NAMES = re.compile(
    r"(.*_)?(pre_?process(_\w+)?|tokeni[sz]e(_\w+)?|augment(_\w+)?|collate(_\w+)?"
    r"|(batch_)?encode_plus|encode_batch\w*|featuri[sz]e(_\w+)?"
    r"|(load|read|decode|open)_(image|images|jpe?g|png|audio|video|frames?)"
    r"|imread|imdecode|decode_jpeg|decode_png)"
)
# What gives something else each time that it is called for the same items.
_NEW_EACH_TIME = re.compile(r"(.*_)?(augment|collate)(_\w+)?")
_BUILT_IN = re.compile(r"<built-in (function|method) (?P<name>\w+)( of (?P<owner>[\w.]+))?.*")
_AT = " at 0x"  # the object that a call is of: names differ in it alone
_OWNERS = re.compile(r".*(Tokenizer|Imaging\w*|SentencePiece\w*|CoreBPE|Encoding)")
_WAITS = re.compile(
    r"acquire|wait\w*|poll|select|recv\w*|barrier|join|synchronize|get|run_backward|epoll_\w+"
)
_WAITING_FILES = re.compile(
    r"(^|/)(torch/(profiler|autograd/profiler|distributed|utils/data)|multiprocessing|threading)\b"
)
_FUNCTION = re.compile(r".*\(\d+\): (?P<name>\w+|<\w+>)")


def prepares_inputs(name: str) -> bool:
    """Tell whether a frame or a call of this name decodes, tokenises or transforms inputs."""
    return _prepares(name.partition(_AT)[0])


@lru_cache(maxsize=1 << 17)
def _prepares(name: str) -> bool:
    call = _BUILT_IN.fullmatch(name)
    if call is not None:
        owner = call["owner"] or ""
        return bool(_OWNERS.fullmatch(owner) or _NAMES.fullmatch(call["name"]))
    function = _FUNCTION.fullmatch(name)
    if function is None:
        return False
    return bool(_FILES.search(name) or _NAMES.fullmatch(function["name"].lower()))


def prepares_repeatably(name: str) -> bool:
    """Tell whether it does, and gives the same for the same item: its result can be stored."""
    if not prepares_inputs(name):
        return False
    function = _FUNCTION.fullmatch(name)
    return function is None or not _NEW_EACH_TIME.fullmatch(function["name"].lower())


@lru_cache(maxsize=1 << 12)
def waits_for_others(name: str) -> bool:
    """Tell whether a call waits for a thread, a process or the engine, or is a profiler's."""
    call = _BUILT_IN.fullmatch(name)
    if call is not None:
        return bool(_WAITS.fullmatch(call["name"]))
    return bool(_WAITING_FILES.search(name))


def is_of_user(event: Event) -> bool:
    """Tell whether an event is a frame of the user's own code."""
    frame = parse_frame(event.name)
    return frame is not None and is_user_file(frame.file)


def preparing(functions: Sequence[Event]) -> Event | None:
    """Return the outermost of functions, given from the innermost out, that prepares inputs."""
    return next((each for each in reversed(functions) if prepares_inputs(each.name)), None)


def preparing_calls(
    trace: Trace, time: Intervals, counts: Callable[[str], bool] = prepares_inputs
) -> list[Event]:
    """Return the outermost frames and calls that prepare inputs, by names that count, in
    some time.
    """
    names = [name for name in trace.names if counts(name)]
    events = outermost(list(trace.named(*names))) if names else []
    return list(compress(events, time.contains([each.start_ns for each in events])))


def short_name(event: Event) -> str:
    """Return a function's name without its file, and a call's without the object that it is of."""
    call, function = _BUILT_IN.fullmatch(event.name), _FUNCTION.fullmatch(event.name)
    if call is not None:
        return call["name"]
    return function["name"] if function is not None else event.name
