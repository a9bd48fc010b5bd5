"""Summaries: what a report needs of one trace, so that reports need no trace.

summary       the value
summarise     from a checked trace to its summary
"""

from .summarise import summarise, summary_of
from .summary import EventSummary, FindingSummary, Origin, ReplaySummary, Summary

__all__ = [
    "EventSummary",
    "FindingSummary",
    "Origin",
    "ReplaySummary",
    "Summary",
    "summarise",
    "summary_of",
]
