"""`tidy open`: the report as a page, in the browser."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..progress import say
from .report import run_report
from .report_options import ReportOptions


def run_open(traces: Sequence[str], options: ReportOptions) -> int:
    """Write the page into a temporary folder and open it. Gives the exit code: 2 for an error."""
    page = Path(tempfile.mkdtemp(prefix="tidy-"), f"{_name(traces[0])}.html")
    asked = replace(options, form="html", output=[f"html={page}"], fail_on="never")
    try:
        code = run_report(traces, asked)
    finally:
        if not page.exists():  # no trace could be read, or a step is not there: it has been said
            page.parent.rmdir()
    if not page.exists():
        return code
    address = page.as_uri()
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    if not webbrowser.open(address):
        say("no browser could be started: open that file in one")
    return code


def _name(trace: str) -> str:
    """`train` for `ranks/train.json.gz`."""
    return Path(trace).name.partition(".")[0] or "report"
