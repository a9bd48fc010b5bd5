"""From traces to what is said of each of them: the one way that all commands and `tidy.check` go.

pipeline                   the steps: rules, ignored paths, comments, the baseline, other ranks
"""
