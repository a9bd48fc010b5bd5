"""`tidy run`: a child process records a script, this one reports.

options.py   what the command line asks for
script.py    from a script to an exit code, to its trace, or to the times of its steps
process.py   the child process and its signals
child/       the recorder inside it
folders.py   where it is recorded, and what killed runs left;  recovery.py: the report of such a run
recording.py the pieces that it leaves behind
assembly.py  from pieces to one trace;  made.py: to its true times (tidy/retiming/) and its file
             kineto_pieces.py: PyTorch's pieces;  frames.py, call_stacks.py: the user's lines
"""

from ..errors import UsageError

try:
    from .options import RunOptions
    from .recovery import run_recover
    from .script import record_once, run_script, time_once
except ValueError as error:  # of TIDY_DEVICE, which tidy.runtime reads when it is imported
    raise UsageError(str(error)) from None

__all__ = ["RunOptions", "record_once", "run_recover", "run_script", "time_once"]
