"""What stands for a line in a log where it is none; lines.py tells the rest."""

from __future__ import annotations

UNSURE = 1 << 30  # added to a line: from here on it may be another line of the same frame
OFF = -(1 << 40)  # nothing is logged from here on: the script is in a function of pure Python,
ON = -(1 << 41)  # and here it has come back to where it was before
AFRESH = -(1 << 42)  # what is open is logged anew
UNKNOWN = -(1 << 43)  # from here on nothing is known of this thread
