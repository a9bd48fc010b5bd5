"""Summaries for tests, and every form of the report that is made of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tidy
from tidy.report.github import to_annotations
from tidy.report.json_report import results_to_json
from tidy.report.markdown import to_markdown
from tidy.report.results import Results
from tidy.report.sarif import to_sarif
from tidy.report.text import render
from tidy.summary import Summary, encode, origin_of, summarise

from ..environment import ROOT

EXAMPLE = ROOT / "examples" / "traces" / "train_cnn.json.gz"


@cache
def example() -> Summary:
    """The summary of a training with findings, accounts and a replay."""
    return summarise(tidy.check(tidy.load(EXAMPLE)), origin_of(str(EXAMPLE)))


def document(summary: Summary) -> dict[str, Any]:
    """What the file of a summary says."""
    made: dict[str, Any] = json.loads(gzip.decompress(encode(summary)))
    return made


def packed(document: object) -> bytes:
    """The file of a document."""
    return gzip.compress(json.dumps(document).encode(), 1)


def forms(summaries: Sequence[Summary]) -> dict[str, str]:
    """The report in all forms but the page, which shows more of a trace than of its summary."""
    results = Results(summaries, [], Path(), {}, 0)
    return {
        "text": render(summaries),
        "json": json.dumps(results_to_json(results), allow_nan=False),
        "sarif": json.dumps(to_sarif(results)),
        "markdown": to_markdown(results),
        "github": "\n".join(to_annotations(results)),
    }
