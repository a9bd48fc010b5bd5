"""Scripts where traces are wanted, and traces where a script is: which command takes them."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from ..errors import TraceFormatError, UsageError
from ..readers.urls import is_url, open_url

_SCRIPTS = {".py", ".pyw"}
_HEAD_NBYTES = 512
_PACKED = (b"\x1f\x8b", b"SQLite format 3\0")
_TAR, _TAR_AT = b"ustar", 257
_KEYS_OF_TRACES = (b'"traceEvents"', b'"schemaVersion"', b'"displayTimeUnit"')
_NOTEBOOK = "a Jupyter notebook, not a {}: `%%tidy` in a cell records it (docs/attach.md)"


def not_a_trace(path: str) -> str | None:
    """Return what to say of a file that is a script, a notebook or a summary and no trace; else
    None.
    """
    suffix = Path(path).suffix.lower()
    if has_summary(path):
        return "a summary, which only tidy report takes in place of the trace"
    if has_summary_at(path):
        return "a summary, which is read from this machine alone: copy it, and give the copy"
    if suffix == ".ipynb":
        return _NOTEBOOK.format("trace")
    if suffix not in _SCRIPTS:
        return None
    ctx = click.get_current_context(silent=True)
    record = {"report": "tidy run", "baseline": "tidy baseline --run"}.get(
        "" if ctx is None else ctx.info_name or "", "tidy run --trace trace.json"
    )
    return f"a Python script, not a trace: `{record} {shlex.quote(path)}` records one"


def has_summary(path: str) -> bool:
    """Tell whether a file holds the summary of a trace."""
    from ..summary import is_summary

    try:
        if not Path(path).is_file():  # what is read of a pipe is gone
            return False
        with Path(path).open("rb") as file:
            return is_summary(file.read(_HEAD_NBYTES))
    except (OSError, ValueError):  # the second of a NUL in the name
        return False


def has_summary_at(path: str) -> bool:
    """Tell whether an address is one of a summary. It is asked for there: look at few."""
    from ..summary import is_summary

    try:
        if not is_url(path):
            return False
        with open_url(path) as file:
            return is_summary(file.read(_HEAD_NBYTES))
    except (OSError, TraceFormatError):
        return False


def check_script(path: str) -> None:
    """Look at a file or folder before Python runs it: it may be a trace, or have some in it."""
    given, name = Path(path), shlex.quote(path)
    ctx = click.get_current_context(silent=True)
    is_baseline = ctx is not None and ctx.info_name == "baseline"
    todo = f"`tidy baseline {name}` reads" if is_baseline else f"`tidy report {name}` checks"
    if given.suffix.lower() == ".ipynb":
        raise UsageError(f"{path}: {_NOTEBOOK.format('script')}")
    try:
        if given.is_dir():
            if not (given / "__main__.py").exists():
                problem = "a folder without __main__.py, which Python cannot run"
                raise UsageError(f"{path}: {problem}: {todo} the traces in it")
            return
        if given.is_file() and _is_trace(given):
            raise UsageError(f"{path}: a trace, not a Python script: {todo} it")
    except OSError:
        return  # Python says what is wrong with it


def _is_trace(path: Path) -> bool:
    """Whether Python cannot run a file, and its first bytes or its name are those of a trace."""
    with path.open("rb") as file:
        head = file.read(_HEAD_NBYTES)
    if head.startswith(b"PK\x03\x04"):
        import zipfile  # few scripts are in archives

        try:
            with zipfile.ZipFile(path) as archive:
                return "__main__.py" not in archive.namelist()
        except zipfile.BadZipFile:
            return True  # the other command says what is wrong with it
    if head.startswith(_PACKED) or head[_TAR_AT:].startswith(_TAR):
        return True
    is_json = head.lstrip().startswith(b"{") and any(key in head for key in _KEYS_OF_TRACES)
    return path.suffix.lower() == ".json" or (is_json and path.suffix.lower() not in _SCRIPTS)
