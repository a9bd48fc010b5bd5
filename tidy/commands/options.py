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
    number_option,
    operands,
    page_steps,
    path_option,
    percentage,
    together,
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
FORMAT = format_option("text", "json", text="For people or for programs (docs/report.schema.json).")
_REPORT_FORMAT = format_option(
    *FORMS,
    text="For people, or for programs: JSON (docs/report.schema.json), SARIF 2.1.0, annotations of"
    " GitHub Actions, Markdown, a page to look at (docs/page.md).",
)
_OUTPUTS = path_option(
    "--output -o",
    "Write the report there, not to the terminal; several times for several forms. .json,"
    " .sarif, .md and .html say the form, or FORM=FILE does.",
    multiple=True,
)
OUTPUT = path_option("--output -o", "Write the report there, not to the terminal.")
TRACES = operands("traces", "TRACE...", required=True)
WIDTH = number_option(
    "--width",
    "Columns of the text; by default those of the terminal or of COLUMNS, else 80.",
    least=40,
)
JOBS = number_option(
    "--jobs",
    "Read 20 MB of text or more in N worker processes: tidy report of several traces has each"
    " process read whole files (docs/scaling.md), else 4 at the most share a file. That is faster"
    " if as many processors have nothing else to do; the report is the same.  [default: 1, for"
    " none]",
    least=1,
)
_PRINTED = together(FORMAT, OUTPUT, WIDTH)
_STEP = click.option(
    "--step", metavar="N|slowest", help="Of one step alone: a number, or the slowest that counts."
)
_PAGE_STEPS = click.option(
    "--page-steps",
    default=",".join(USUAL_STEPS),
    show_default=True,
    metavar="STEPS",
    callback=page_steps,
    help="The steps that the timeline of a page shows: numbers, median, slowest.",
)
# Which configuration holds (docs/configuration.md).
CONFIG = together(
    path_option(
        "--config config_file",
        "Take what this TOML file says; else the nearest tidy.toml, or pyproject.toml with"
        " [tool.tidy], upwards from the script or the working directory.",
    ),
    flag_option("--no-config", "Take no configuration."),
)
# The options of `report`, which `run` has too.
report_options = together(
    _REPORT_FORMAT,
    _OUTPUTS,
    codes_option(
        "--select", "Run only these rules: codes, prefixes (TDY4) or names, separated by commas."
    ),
    codes_option("--ignore", "Leave these rules out."),
    choice_option(
        "--fail-on", SEVERITIES, "The least severity that makes the exit code 1.", default="warning"
    ),
    choice_option(
        "--savings",
        SAVINGS,
        "Run the recorded graph again with what each fix changes, or weigh findings by cost.",
    ),
    click.option(
        "--warn-from",
        type=click.FloatRange(min=0, max=100),
        default=1.0,
        show_default="1",
        metavar="PERCENT",
        help="What a finding has to save of the steps (or to cost, where nothing is replayed) to be"
        " a warning.",
    ),
    PATTERNS,
    click.option(
        "--name", metavar="REGEX", help="Also list the events whose name matches (TDY000)."
    ),
    number_option(
        "--top", "Show the N findings that matter most; 0 shows all. JSON always has all.", 20
    ),
    WIDTH,
    _PAGE_STEPS,
    path_option(
        "--perfetto",
        "Also write the trace for ui.perfetto.dev, with findings and the causes of idle time as"
        " tracks; of one trace (.json or .json.gz).",
    ),
    flag_option("--quiet -q", "Print a line for each finding and nothing else."),
    flag_option("--verbose -v", "Name each rule that does not apply, and report each rank."),
    path_option(
        "--baseline",
        "Only what is new, or clearly costlier than in this file, counts: `tidy baseline` writes it"
        " (docs/baseline.md).",
    ),
    flag_option(
        "--add-ignores",
        "Write `# tidy: ignore[CODE]` at the findings that make the exit code 1, in the sources of"
        " the project (docs/suppressions.md).",
    ),
    CONFIG,
)
# How a script is run; of `run` and `verify`.
_HOW_TO_RUN = together(
    flag_option("-m module", "SCRIPT is a module, as for python -m."),
    path_option("--python", "Run with this Python: a program or a virtual environment.", "PATH"),
    choice_option(
        "--framework",
        ("auto", "runtime", "torch"),
        "What to record: what the script imports first, or one. With runtime, `import torch`"
        " gives tidy.runtime.",
    ),
    path_option(
        "--device",
        "Give tidy.runtime N modelled CUDA devices: v100, t4, a100-40, a100-80, l4, h100,"
        " h200, b200 or generic. numpy computes; the device's times come from a model.",
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
        "Recorded before them, but not counted as steps. The first reaches from the import of"
        " the framework to the end of the first optimizer step.",
        1,
    ),
    number_option("--after", "Begin to record after N steps.", 0),
    number_option(
        "--every",
        "Record anew every N steps, 20 times at most; report the last recording, and what"
        " changed from one to the next. --trace t.json becomes t-1.json, t-2.json, ...",
        0,
    ),
    click.option(
        "--seconds",
        type=click.FloatRange(min=0, min_open=True),
        default=60,
        show_default=True,
        metavar="S",
        help="Record no longer than this.",
    ),
    click.option(
        "--max-size",
        callback=file_size,
        default="400M",
        show_default=True,
        metavar="BYTES",
        help="Record no more than about this: bytes, or with k, M or G after the number.",
    ),
    flag_option("--stop-after", "End the script, too, when the steps are recorded."),
    flag_option(
        "--keep-running",
        "Let the script go on if tidy itself is killed (SIGKILL, out of memory); else it is ended,"
        " too.",
    ),
    path_option("--trace", "Keep the trace (.json or .json.gz); of ranks, a folder."),
    without_option("stack", "Record no Python frames and lines: cheaper."),
    without_option("shapes", "Record no input shapes."),
    without_option("memory", "Record no allocations."),
    flag_option(
        "--quickest",
        "Take each part of a step to be as long as in the quickest steps: without a device, the"
        " times that differ least from run to run. For tidy diff.",
    ),
    flag_option(
        "--all-threads",
        "PyTorch: record ops of all threads of the script. It then records no memory.",
    ),
)
# What `verify` times.
verify_options = together(
    number_option("--steps", "Record and time N steps of the first optimizer.", 20, least=3),
    number_option("--warmup", "Leave out N steps before them.", 3),
    codes_option(
        "--finding codes", "Verify only these: codes or names of rules, separated by commas."
    ),
    number_option("--runs", "Time each form of the script N times; they take turns.", 2, least=1),
    _PRINTED,
)
# What `account` shows.
account_options = together(
    _STEP,
    JOBS,
    _PRINTED,
    flag_option("--by-step", "Also an account of each step."),
    flag_option("--by-line", "Also the lines of source that take most time."),
    number_option("--rows", "How many lines.", 20, least=1),
)
# What `open` shows.
open_options = together(
    _STEP,
    JOBS,
    _PAGE_STEPS,
    codes_option("--select", "Run only these rules."),
    codes_option("--ignore", "Leave these rules out."),
    PATTERNS,
    CONFIG,
)
# What `flame` writes.
flame_options = together(
    _STEP,
    JOBS,
    flag_option("--device of_device", "Time of devices, by what launched their work."),
    flag_option("--all-frames", "Also frames of libraries, and marks of steps."),
    path_option("--output -o", "Write the lines there, not to the terminal."),
)
# What `diff` compares, and how.
diff_options = together(
    operands("base", "BASE", count=1),
    operands("new", "NEW", count=1),
    click.option(
        "--fail-on-regression",
        metavar="PERCENT",
        callback=percentage,
        help="End with 1 where steps are certainly more than so much longer: the whole interval is"
        " above it, not only the estimate.",
    ),
    click.option(
        "--allow",
        type=click.Choice(("all", *_COMPARED)),
        multiple=True,
        metavar="WHAT",
        help=f"Compare even where this differs: {', '.join(_COMPARED)}, or all; several times for"
        " several things.",
    ),
    format_option(
        "text",
        "json",
        "markdown",
        "github",
        "html",
        text="For people, or for programs: JSON (docs/diff.md), Markdown, annotations of GitHub"
        " Actions, a page (docs/page.md).",
    ),
    path_option(
        "--output -o",
        "Write the comparison there; several times for several forms. .json, .md and"
        " .html say the form, or FORM=FILE does.",
        multiple=True,
    ),
    number_option("--top", "Show the N ops and findings that matter most; 0 shows all.", 20),
    WIDTH,
    JOBS,
    CONFIG,
)
# What `table` shows.
table_options = together(
    click.option(
        "--sort-by",
        metavar="KEY",
        help="cpu_time_total, self_device_time_total, self_cpu_memory_usage, count, ...; by "
        "default the self time on the device, or on the CPU where no device was recorded.",
    ),
    flag_option("--group-by-shape", "A row for each combination of input shapes."),
    number_option(
        "--group-by-stack", "A row for each combination of the N innermost Python frames.", 0
    ),
    number_option("--rows", "Show N rows; 0 shows all. 20 by default, and all in JSON and CSV."),
    flag_option("--top-level", "Leave out what only runs inside other rows."),
    number_option("--name-width", "Cut longer names; 0 cuts none.", 55),
    format_option("text", "json", "csv", text="For people or for programs (docs/table.md)."),
    OUTPUT,
    WIDTH,
    JOBS,
)
# Traces or summaries of them, or with --recover folders that killed runs left.
report_traces = together(
    operands("traces", "TRACE...", required=False),
    flag_option(
        "--recover", "TRACE is a folder that a killed tidy run left; without one, the latest."
    ),
    _STEP,
    JOBS,
    flag_option(
        "--dask", "Have Dask read the traces, in processes that it starts here (docs/scaling.md)."
    ),
    path_option(
        "--scheduler",
        "The same on the workers of a cluster, by its scheduler's address.",
        "ADDRESS",
    ),
)
SUMMARIES = path_option(
    "--summaries",
    "Also write a summary of each trace, some KB, into this folder: given to tidy report later,"
    " here or on another machine, they make the same report (docs/summaries.md).",
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
    flag_option("--run runs", "Record a script, as `tidy run` does, in place of reading traces."),
    path_option(
        "--output -o",
        "The file; by default that of the configuration, or"
        " tidy-baseline.json in the folder of the project.",
    ),
    flag_option("--prune", "Take out what is gone, and put in nothing new."),
    JOBS,
    codes_option("--select", "Run only these rules."),
    codes_option("--ignore", "Leave these rules out."),
    PATTERNS,
    CONFIG,
    _HOW_TO_RUN,
    run_options,
)
