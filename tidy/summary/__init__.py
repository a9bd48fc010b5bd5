"""Summaries: what a report needs of one trace, so that reports need no trace.

summary       the value
summarise     from a checked trace to its summary
codec         as the content of a file, and back
form          the document in it
recognise     files of summaries told from others
several       those of several traces, in one order and each step once
job           the ranks of one job compared
late_ranks    who is late in it, why, and what that costs
late_steps    why a rank is late in some steps
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..first_use import on_first_use
from ..savings import Fidelity
from .recognise import SUFFIX, is_summary
from .summarise import summarise, summary_of
from .summary import EventSummary, FindingSummary, Origin, ReplaySummary, Summary

if TYPE_CHECKING:
    from .codec import decode, encode
    from .job import Job, job_of
    from .late_ranks import LateRanks
    from .several import HEAD_NBYTES, merged, origin_of

__all__ = [
    "HEAD_NBYTES",
    "SUFFIX",
    "EventSummary",
    "Fidelity",
    "FindingSummary",
    "Job",
    "LateRanks",
    "Origin",
    "ReplaySummary",
    "Summary",
    "decode",
    "encode",
    "is_summary",
    "job_of",
    "merged",
    "origin_of",
    "summarise",
    "summary_of",
]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "codec": "decode encode",
        "job": "Job job_of",
        "late_ranks": "LateRanks",
        "several": "HEAD_NBYTES merged origin_of",
    },
)
