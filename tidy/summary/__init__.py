"""Summaries: what a report needs of one trace, so that reports need no trace.

summary       the value
summarise     from a checked trace to its summary
codec         as the content of a file, and back
form          the document in it
several       those of several traces, in one order and each step once
"""

from ..savings import Fidelity
from .codec import SUFFIX, decode, encode, is_summary
from .several import merged, origin_of
from .summarise import summarise, summary_of
from .summary import EventSummary, FindingSummary, Origin, ReplaySummary, Summary

__all__ = [
    "SUFFIX",
    "EventSummary",
    "Fidelity",
    "FindingSummary",
    "Origin",
    "ReplaySummary",
    "Summary",
    "decode",
    "encode",
    "is_summary",
    "merged",
    "origin_of",
    "summarise",
    "summary_of",
]
