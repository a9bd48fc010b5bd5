"""The exit codes of the commands, as their help says them."""

REPORT = """\b
Exit codes:
  0  nothing at or above the threshold of --fail-on
  1  findings
  2  failed: usage, unreadable trace, crashed rule
"""
RUN = """\b
Exit codes:
  the script's own if it fails (the report's last line
  says so), 128 + N if signal N ended it; otherwise
  0  nothing at or above the threshold of --fail-on
  1  findings
  2  failed: usage, no framework used, nothing recorded
"""
BASELINE = """\b
Exit codes:
  the script's own if it fails; otherwise
  0  the file is as it should be
  2  failed: usage, unreadable trace or file, crashed rule
"""
VERIFY = """\b
Exit codes:
  0  each measured step is as predicted, give or take 7 %
  1  one is not
  2  failed: usage, the script fails, nothing to verify
"""
DIFF = """\b
Exit codes:
  0  no regression above --fail-on-regression, or the
     option was not given
  1  steps are longer by certainly more than that
  2  failed: usage, unreadable file, runs that cannot be
     compared
"""
