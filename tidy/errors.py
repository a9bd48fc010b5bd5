"""Every error that tidy raises on purpose.

    TidyError                       exit code 2, one line for the user
    +-- TraceFormatError            the input is not a trace
    |   +-- UnreadableFile          it cannot be read at all
    +-- PatternLoadError            a rule or plug-in does not load
    +-- UnknownPattern              a code on the command line names no rule
    +-- UsageError                  an option that makes no sense
    +-- ConfigError                 a configuration file that says what makes no sense

The message of each says what is wrong, where, and what to do. `cli.py` is the only place that turns
one into text on stderr and an exit code.
"""

from __future__ import annotations


class TidyError(Exception):
    """Base of all errors a user can meet; `str(error)` is one line."""

    exit_code = 2


class TraceFormatError(TidyError):
    """The file at `path` is no trace that tidy can read; the message names what it looks like."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class UnreadableFile(TraceFormatError):
    """The system does not let the file be read, or what is in it is damaged or merged."""


class PatternLoadError(TidyError):
    """A module or entry point that should define rules could not be loaded."""


class UnknownPattern(TidyError):
    """A code given by the user that no loaded rule has."""


class UsageError(TidyError):
    """An option or argument with a value that cannot work."""


class ConfigError(TidyError):
    """A configuration file that cannot be read, or a key or value in it that makes no sense."""


def reason_of(error: OSError) -> str:
    """Return what the system says went wrong."""
    return (error.strerror or str(error)).lower()
