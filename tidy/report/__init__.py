"""Reports on the outcomes of rules, for people and for programs.

report                     a checked trace with ways to show it, as `tidy.check` gives it
text, json_report, sarif,  one form each
  github, markdown,
  notebook
  results                  what a command found, and how it ended
    sections               the checked traces of one job put together
    wording, units         how things are said, in all forms
changes                    how one recording differs from the one before
"""
