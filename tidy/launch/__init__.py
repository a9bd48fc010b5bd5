"""`tidy run`: a child process records a script, this one reports.

options.py   what the command line asks for
run.py       from a script to an exit code
process.py   the child process and its signals
child/       the recorder inside it
recording.py the pieces it leaves behind
merge.py     from pieces to one trace;  frames.py, places.py: the lines in it
"""

from .options import RunOptions
from .run import run_script

__all__ = ["RunOptions", "run_script"]
