"""A child process records a script; this one makes its traces.

options.py   what the command line asks for
script.py    from a script to its traces, or to the times of its steps
process.py   the child process and its signals
child/       the recorder inside it
folders.py   where it is recorded, and what killed runs left
recording.py the pieces that it leaves behind
assembly.py  from pieces to one trace;  made.py: to its true times (tidy/retiming/) and its file
             kineto_pieces.py: PyTorch's pieces;  frames.py, call_stacks.py: the user's lines
"""

from ..errors import UsageError

try:
    from .options import RunOptions
    from .script import record_once, time_once
except ValueError as error:  # of TIDY_DEVICE, which tidy.runtime reads when it is imported
    raise UsageError(str(error)) from None

__all__ = ["RunOptions", "record_once", "time_once"]
