"""Reports: what came of the rules on traces, for people and for programs.

Report                     one trace and its outcomes, with ways to show them
  text, json_report        how reports are shown
    sections               the reports of one job put together
      checked_trace        one trace and the outcome of each rule
        summary            one line about the run
"""
