"""`tidy diff`: two runs beside each other, with what can be said of their difference and what not.

compare.py       steps, ops, account, findings and memory of both
  interval.py    by how much one series of steps is longer than another, and how sure that is
  machine.py     what the machine alone explains
  pairing.py     the rows of two tables of ops, paired
  findings.py    the findings of two runs, paired
  setting.py     what both have to have in common
side.py          one side; from_traces.py and from_report.py make it
  op_table.py    what steps are made of
"""

from .compare import Comparison
from .from_report import is_report, side_of_report
from .from_traces import side_of_traces
from .setting import WHATS
from .side import Side

__all__ = ["WHATS", "Comparison", "Side", "is_report", "side_of_report", "side_of_traces"]
