"""The exit codes of the commands, as their help says them."""

REPORT = """\b
Exit codes:
  0  nothing at or above the threshold of --fail-on
  1  findings
  2  could not: usage, unreadable trace, crashed rule
"""
RUN = """\b
Exit codes:
  the script's own where it fails (the report's last line
  says so), 128 + N where signal N ended it; else
  0  nothing at or above the threshold of --fail-on
  1  findings
  2  could not do the job: usage, neither framework used,
     nothing recorded
"""
BASELINE = """\b
Exit codes:
  the script's own where it fails; else
  0  the file is as it should be
  2  could not do the job: usage, unreadable trace or
     file, crashed rule
"""
VERIFY = """\b
Exit codes:
  0  each measured step is as predicted, give or take 7 %
  1  one is not
  2  could not do the job: usage, the script fails,
     nothing to verify
"""
DIFF = """\b
Exit codes:
  0  no regression above --fail-on-regression, or none is
     asked for
  1  steps are certainly more than that longer
  2  could not do the job: usage, unreadable file, runs
     that are not comparable
"""
