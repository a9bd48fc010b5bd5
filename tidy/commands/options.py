"""Options that several commands have."""

import click

from ..check.keys import FORMS, SAVINGS, SEVERITIES
from ..page import USUAL_STEPS
from . import completion
from .option_kinds import (
    choice_option,
    codes_option,
    file_size,
    flag_option,
    format_option,
    no_nan,
    number_option,
    operands,
    page_steps,
    path_option,
    percentage,
    together,
    waiting_time,
    without_option,
)

PATTERNS = path_option(
    "--patterns",
    "Load further rules from a Python file or module.",
    "FILE_OR_MODULE",
    multiple=True,
)
# What two runs have to have in common; a test holds it against `tidy.diff`, which takes numpy.
_COMPARED = ("framework", "device", "world-size", "recorded", "steps", "shapes", "dtype")
FORMAT = format_option(
    "text", "json", text="Text for people or JSON for programs (docs/report.schema.json)."
)
_REPORT_FORMAT = format_option(
    *FORMS,
    text="The form of the report: text for people, JSON (docs/report.schema.json), SARIF 2.1.0,"
    " annotations of GitHub Actions, Markdown, or a page (docs/page.md).",
)
_OUTPUTS = path_option(
    "--output -o",
    "Write the report to this file instead of the terminal. The suffix sets the form (.json,"
    " .sarif, .md, .html), or FORM=FILE does. May be repeated, for several forms.",
    multiple=True,
)
OUTPUT = path_option("--output -o", "Write the report to this file instead of the terminal.")
TRACES = operands("traces", "TRACE...", required=True)
WIDTH = number_option(
    "--width",
    "Columns of the text. By default those of the terminal or of COLUMNS, else 80.",
    least=40,
)
JOBS = number_option(
    "--jobs",
    "Read 20 MB of text or more in N worker processes, which is faster if as many processors are"
    " idle; the result is the same. Up to 4 share a file; `tidy report` of several traces gives"
    " each process whole files (docs/scaling.md). Rules share the processes, too."
    "  [default: 1, no workers]",
    least=1,
)
_PRINTED = together(FORMAT, OUTPUT, WIDTH)
_STEP = click.option(
    "--step",
    metavar="N|slowest",
    help="Look at one step alone: its number, or the slowest one that counts.",
)
_PAGE_STEPS = click.option(
    "--page-steps",
    default=",".join(USUAL_STEPS),
    show_default=True,
    metavar="STEPS",
    callback=page_steps,
    help="The steps in the timeline of a page: numbers, median or slowest, separated by commas.",
)
# Which configuration holds (docs/configuration.md).
CONFIG = together(
    path_option(
        "--config config_file",
        "Read the configuration from this TOML file. By default the nearest tidy.toml, or"
        " pyproject.toml with [tool.tidy], in or above the folder of the script or the working"
        " directory.",
    ),
    flag_option("--no-config", "Ignore all configuration files."),
)
# The options of `report`, which `run` has too.
report_options = together(
    _REPORT_FORMAT,
    _OUTPUTS,
    codes_option(
        "--select", "Run only these rules: codes, prefixes (TDY4) or names, separated by commas."
    ),
    codes_option("--ignore", "Do not run these rules."),
    choice_option(
        "--fail-on",
        SEVERITIES,
        "Exit with 1 if a finding has at least this severity.",
        default="warning",
    ),
    choice_option(
        "--savings",
        SAVINGS,
        "Estimate savings by replaying the run without what each fix removes, or rank findings by"
        " their cost.",
    ),
    click.option(
        "--warn-from",
        type=click.FloatRange(min=0, max=100),
        callback=no_nan,
        default=1.0,
        metavar="PERCENT",
        help="Report a finding as a warning if it saves at least this much of the steps (or costs"
        " it, if nothing is replayed).  [default: 1]",
    ),
    PATTERNS,
    click.option(
        "--name", metavar="REGEX", help="Also list the events whose name matches (rule TDY000)."
    ),
    number_option(
        "--top", "Show the N most important findings; 0 shows all. JSON always has all.", 20
    ),
    WIDTH,
    _PAGE_STEPS,
    path_option(
        "--perfetto",
        "Also write the trace (one alone) for ui.perfetto.dev, as .json or .json.gz, with tracks"
        " for findings and the causes of idle time.",
    ),
    flag_option("--quiet -q", "Print only one line for each finding."),
    flag_option("--verbose -v", "List the rules that do not apply, and report each rank."),
    path_option(
        "--baseline",
        "Count only findings that are not in this file, or that are clearly costlier now. `tidy"
        " baseline` writes it (docs/baseline.md).",
    ),
    flag_option(
        "--add-ignores",
        "Write `# tidy: ignore[CODE]` into the sources of the project for each finding that makes"
        " the exit code 1 (docs/suppressions.md).",
    ),
    CONFIG,
)
# How a script is run; of `run` and `verify`.
_HOW_TO_RUN = together(
    flag_option("-m module", "SCRIPT is a module, as with python -m."),
    path_option("--python", "Run with this Python: a program or a virtual environment.", "PATH"),
    choice_option(
        "--framework",
        ("auto", "runtime", "torch"),
        "The framework to record. auto takes the one that the script imports first; with runtime,"
        " `import torch` gives tidy.runtime.",
    ),
    path_option(
        "--device",
        "Run on tidy.runtime with N modelled CUDA devices: v100, t4, a100-40, a100-80, l4, h100,"
        " h200, b200 or generic. numpy computes the values and a model gives the times.",
        "KIND[:N]",
        completion.devices,
    ),
)
script_options = together(operands("command", "SCRIPT [ARGS]...", required=True), _HOW_TO_RUN)
# What `run` records.
run_options = together(
    number_option(
        "--steps",
        "Record N steps of the first optimizer; then the script goes on at full speed.",
        10,
        least=1,
    ),
    number_option(
        "--warmup",
        "Record N steps before them that do not count. The first one lasts from the import of the"
        " framework to the end of the first optimizer step.",
        1,
    ),
    number_option("--after", "Start recording after N steps.", 0),
    number_option(
        "--every",
        "Record again every N steps, up to 20 times. The report is about the last recording and"
        " says what changed since the ones before. --trace t.json becomes t-1.json, t-2.json, ...",
        0,
    ),
    click.option(
        "--seconds",
        type=click.FloatRange(min=0, min_open=True),
        callback=waiting_time,
        default=60,
        show_default=True,
        metavar="S",
        help="Record for at most S seconds.",
    ),
    click.option(
        "--max-size",
        callback=file_size,
        default="400M",
        show_default=True,
        metavar="BYTES",
        help="Stop recording at about this size: bytes, or a number followed by k, M or G.",
    ),
    flag_option("--stop-after", "End the script when the steps are recorded."),
    flag_option(
        "--keep-running",
        "Let the script go on if tidy itself is killed (SIGKILL, out of memory). By default the"
        " script ends, too.",
    ),
    path_option(
        "--trace",
        "Keep the trace in this file (.json or .json.gz); for several ranks, in this folder.",
    ),
    without_option("stack", "Record no Python frames and lines, which slows the script less."),
    without_option("shapes", "Record no input shapes."),
    without_option("memory", "Record no allocations."),
    flag_option(
        "--quickest",
        "Take each part of a step to last as long as in the quickest steps. On a CPU these times"
        " differ least from run to run, which helps `tidy diff`.",
    ),
    flag_option(
        "--all-threads",
        "PyTorch: record the ops of all threads of the script, and no memory.",
    ),
)
# What `verify` times.
verify_options = together(
    number_option("--steps", "Record and time N steps of the first optimizer.", 20, least=3),
    number_option("--warmup", "Skip N steps before them.", 3),
    codes_option(
        "--finding codes", "Verify only these rules: codes or names, separated by commas."
    ),
    number_option(
        "--runs", "Time each variant of the script N times; the variants take turns.", 2, least=1
    ),
    _PRINTED,
)
# What `account` shows.
account_options = together(
    _STEP,
    JOBS,
    _PRINTED,
    flag_option("--by-step", "Also show an account of each step."),
    flag_option("--by-line", "Also show the lines of source that take most time."),
    number_option("--rows", "Show N lines.", 20, least=1),
)
# What `open` shows.
open_options = together(
    _STEP,
    JOBS,
    _PAGE_STEPS,
    codes_option("--select", "Run only these rules."),
    codes_option("--ignore", "Do not run these rules."),
    PATTERNS,
    CONFIG,
)
# What `flame` writes.
flame_options = together(
    _STEP,
    JOBS,
    flag_option("--device of_device", "Count the time of devices, by what launched their work."),
    flag_option("--all-frames", "Also show frames of libraries and marks of steps."),
    path_option("--output -o", "Write the lines to this file instead of the terminal."),
)
# What `diff` compares, and how.
diff_options = together(
    operands("base", "BASE", count=1),
    operands("new", "NEW", count=1),
    click.option(
        "--fail-on-regression",
        metavar="PERCENT",
        callback=percentage,
        help="Exit with 1 if steps are longer by certainly more than this: not only the estimate"
        " but the whole interval lies above it.",
    ),
    click.option(
        "--allow",
        type=click.Choice(("all", *_COMPARED)),
        multiple=True,
        metavar="WHAT",
        help=f"Compare even if this differs: {', '.join(_COMPARED)}, or all. May be repeated.",
    ),
    format_option(
        "text",
        "json",
        "markdown",
        "github",
        "html",
        text="The form of the comparison: text for people, JSON (docs/diff.md), Markdown,"
        " annotations of GitHub Actions, or a page (docs/page.md).",
    ),
    path_option(
        "--output -o",
        "Write the comparison to this file. The suffix sets the form (.json, .md, .html), or"
        " FORM=FILE does. May be repeated, for several forms.",
        multiple=True,
    ),
    number_option("--top", "Show the N most important ops and findings; 0 shows all.", 20),
    WIDTH,
    JOBS,
    CONFIG,
)
# What `table` shows.
table_options = together(
    click.option(
        "--sort-by",
        metavar="KEY",
        help="Sort by cpu_time_total, self_device_time_total, self_cpu_memory_usage, count, ... By"
        " default by self time on the device, or on the CPU if no device was recorded.",
    ),
    flag_option("--group-by-shape", "Make a row for each combination of input shapes."),
    number_option(
        "--group-by-stack", "Make a row for each combination of the N innermost Python frames.", 0
    ),
    number_option("--rows", "Show N rows; 0 shows all. By default 20, and all in JSON and CSV."),
    flag_option("--top-level", "Leave out ops that only run inside other rows."),
    number_option("--name-width", "Cut names after N letters; 0 cuts none.", 55),
    format_option(
        "text", "json", "csv", text="Text for people, JSON or CSV for programs (docs/table.md)."
    ),
    OUTPUT,
    WIDTH,
    JOBS,
)
# Traces or summaries of them, or with --recover folders that killed runs left.
report_traces = together(
    operands("traces", "TRACE...", required=False),
    flag_option(
        "--recover",
        "Report what a killed `tidy run` left. TRACE is its folder; by default the latest.",
    ),
    _STEP,
    JOBS,
    flag_option(
        "--dask", "Read the traces on Dask, in processes that it starts here (docs/scaling.md)."
    ),
    path_option(
        "--scheduler",
        "Read the traces on the Dask cluster with this scheduler.",
        "ADDRESS",
    ),
)
SUMMARIES = path_option(
    "--summaries",
    "Also write a summary of each trace, some KB, into this folder. `tidy report` makes the same"
    " report of them later, on any machine (docs/summaries.md).",
    "DIR",
    completion.folders,
)
# A place for which a configuration holds, and how to show it.
config_options = together(
    operands("scripts", "[SCRIPT]", required=False),
    CONFIG,
    PATTERNS,
    format_option("text", "json"),
    flag_option("--schema", "Print the JSON schema of configurations, for editors."),
)
# What a baseline is made of: traces, or a script to run.
baseline_options = together(
    operands("command", "TRACE... | --run SCRIPT [ARGS]...", required=True),
    flag_option("--run runs", "Record a script, as `tidy run` does, instead of reading traces."),
    path_option(
        "--output -o",
        "The file to write. By default the one that the configuration names, or tidy-baseline.json"
        " in the folder of the project.",
    ),
    flag_option("--prune", "Remove findings that are gone, and add no new ones."),
    JOBS,
    codes_option("--select", "Run only these rules."),
    codes_option("--ignore", "Do not run these rules."),
    PATTERNS,
    CONFIG,
    _HOW_TO_RUN,
    run_options,
)
