"""The report as one HTML page: what `--format html` writes.

document    the page: the files of web/ put together with the data
content     what a report says, as data for the page
comparison  the page of two runs beside each other
steps       the steps of a run, and which of them the timeline shows
ranks       which ranks of a job the page has whole
slices      the slices of these steps as columns, and the matches of findings among them
row_links   the forward and the place of each row
labels      what devices, tracks and kinds of slices are called
flame       the flame graph of the window
memory      memory over time, and what holds it at the peak
sources     the lines of the project's files, with what they cost
perfetto    the trace with findings and idle causes, for Perfetto
columns     how columns of numbers are packed into text
web/        the page's style and its modules; main.js is where they begin

The page asks for nothing from anywhere: its content security policy allows no request, and no
script or style but its own. All that comes from a trace is data, which the modules show as text.
"""

USUAL_STEPS = ("median", "slowest")  # that a timeline shows unless others are asked for
