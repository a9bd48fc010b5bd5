"""What a project has accepted until now: then only what is new, or clearly dearer, counts."""

from .entries import DEFAULT_NAME, Baseline, Entry, read_baseline
from .known import found_entries, gone_entries, is_dearer, marked

__all__ = [
    "DEFAULT_NAME",
    "Baseline",
    "Entry",
    "found_entries",
    "gone_entries",
    "is_dearer",
    "marked",
    "read_baseline",
]
