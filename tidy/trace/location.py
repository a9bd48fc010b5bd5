"""Where in the user's source an event comes from.

Kineto writes a Python frame as `file(first line of the function): function`, so its line is that of
the function, not of the call. The `Call stack` of 2021 files has the line of each call.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import lru_cache

# After a frame of a `Call stack`: which line of the function it was at is not known.
NO_LINE_KNOWN = " (line not known)"
_FRAME = re.compile(r"(?P<file>.+)\((?P<line>\d+)\): (?P<function>.+)", re.DOTALL)
_INSTALLED = re.compile(r"(^|/)(site-packages|dist-packages)/|(^|/)lib/python\d[^/]*/")
# Packages whose frames are never where a user edits; frames of other installed packages cannot be
# told from the user's own, since Kineto cuts every path at its entry of sys.path.
_LIBRARIES = frozenset(
    """
    accelerate adabelief_pytorch apex bitsandbytes colossalai composer dadaptation datasets
    deepspeed einops fairscale flash_attn functorch heavyball huggingface_hub hydra ignite
    lightning lightning_fabric lion_pytorch numpy pandas peft PIL prodigyopt pytorch_lightning
    pytorch_optimizer schedulefree sklearn tidy timm tokenizers torch torch_optimizer torchaudio
    torchdata torchtext torchvision tqdm transformers triton xformers
    """.split()
)


@dataclass(frozen=True, slots=True)
class Location:
    """A place in source code.

    `is_call_line` tells whether `line` is the line of the call or, as Kineto has it, the first line
    of the function that makes it.
    """

    file: str
    line: int
    function: str
    is_call_line: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@lru_cache(maxsize=1 << 16)
def parse_frame(name: str) -> Location | None:
    """Return the location in `file(line): function`; None for names of another form, as of
    built-ins.
    """
    match = None if name.startswith(("<built-in", "nn.Module: ")) else _FRAME.fullmatch(name)
    if match is None:
        return None
    line = max(int(match["line"]), 1)  # Python 3.11 enters modules at line 0
    return Location(match["file"].replace("\\", "/"), line, match["function"])


@lru_cache(maxsize=1 << 12)
def is_user_file(file: str) -> bool:
    """Tell whether a file is likely the user's own: not a library's, not Python's, not
    generated.
    """
    if _INSTALLED.search(file) or file.startswith("<frozen "):
        return False
    if file.startswith("/") or re.match(r"[A-Za-z]:", file):
        return True
    top, _, rest = file.partition("/")
    if rest:
        return top not in _LIBRARIES and top not in sys.stdlib_module_names
    stem = top.removesuffix(".py")
    return stem not in _PYTHON_FILES


# Single files of the standard library that show up under a training script. Others (`test.py`,
# `profile.py`, `trace.py`) are as likely a user's own script.
_PYTHON_FILES = frozenset(
    """
    _collections_abc _weakrefset abc contextlib copy copyreg enum functools inspect os pathlib
    pickle posixpath queue random re runpy selectors shutil socket struct subprocess tempfile
    threading types typing warnings weakref
    """.split()
)


def parse_call_stack(text: str) -> Location | None:
    """Return the innermost user frame of a `Call stack` (`file(line): function;...`, innermost
    first).
    """
    for frame in map(str.strip, text.split(";")):
        location = parse_frame(frame.removesuffix(NO_LINE_KNOWN))
        if location is not None and is_user_file(location.file):
            is_known = not frame.endswith(NO_LINE_KNOWN)
            return Location(location.file, location.line, location.function, is_known)
    return None
