"""From traces to what is said of each of them: the one way that all commands and `tidy.check` go.

check                      the rules are run, and what they find is judged
  run_rules                outcomes of the rules, ranks of a job seen together
  judge                    ignored paths, comments in sources, the baseline, other ranks
"""

from .pipeline import Checking, CheckSettings, check, judge, run_rules

__all__ = ["CheckSettings", "Checking", "check", "judge", "run_rules"]
