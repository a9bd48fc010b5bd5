"""From traces to the reports on them: the one way that all commands and `tidy.check` go.

pipeline                   the steps: rules, ignored paths, comments, the baseline, other ranks
  late                     rules that compare ranks, with what a replay of the job adds
  checked_trace            a trace and the outcome of each rule
    weigh                  what findings matter, by what their fixes save
    summary                what ran and what was recorded of it
  suppress, add_ignores    comments in the sources that accept findings
    comments, places       what stands in the sources
  known, baseline          findings that were accepted, and the file that has them
    fingerprint            which finding it is, in whatever run
settings, keys, schema     what the project says of itself: tidy.toml, or [tool.tidy]
  path_ignores             rules that are left out in some files
overlap                    files that hold the same steps
"""
