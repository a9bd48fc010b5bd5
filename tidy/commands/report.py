"""`tidy report`: from paths on the command line to a report and an exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ..check.checked_trace import CheckedTrace
from ..check.overlap import apart
from ..check.pipeline import Checking, check, judge, run_rules
from ..errors import TidyError, UsageError, reason_of
from ..finding import Checked, Outcome
from ..patterns.base import Pattern
from ..progress import say
from ..report.changes import changes_text, compare
from ..report.results import Results
from ..trace import Trace, printable
from ..whole_file import write_whole
from .files import check_output, find_files, of_step, opened
from .project import Project, entry_text
from .report_options import Output, ReportOptions
from .summaries import (
    check_folder,
    refuse_what_needs_traces,
    summaries_of,
    with_given,
    write_summaries,
)

if TYPE_CHECKING:
    from ..reducing import Reduced
    from .files import InputFiles

_NAMED_EVENT = "TDY000"
_MOST_NAMES, _LONGEST = 5_000, 64  # that are compared, which takes longer than the search


def run_rules_once(
    traces: Iterable[Trace], rules: Sequence[Pattern], step: str | None = None, jobs: int = 1
) -> Checking:
    """Run the rules; of steps that several files hold the first file counts, and a line says so.

    Args:
        jobs: how many worker processes run them on a large trace; 1 for none.
    """
    notes: list[str] = []
    of_steps = (of_step(each, step) for each in apart(traces, notes))
    if jobs > 1:
        from ..reducing.forks import run_in_forks  # loads multiprocessing

        checked = run_rules(of_steps, rules, partial(run_in_forks, jobs=jobs))
    else:
        checked = run_rules(of_steps, rules)
    for note in notes:
        say(note)
    return checked


def run_report(
    traces: Sequence[str | Trace],
    options: ReportOptions,
    script_status: int = 0,
    earlier: Sequence[Trace] | None = None,
    is_recorded: bool = False,
) -> int:
    """Read, check and print. Gives the exit code: the script's own where it failed.

    Args:
        traces: files, folders or "-" for standard input; or traces.
        script_status: how the script ended that was recorded.
        earlier: recordings of the same run that came before the one trace, in order: what changed
            from one to the next is said, too. None for a run that is recorded once.
        is_recorded: whether the traces are of a run that this command itself has recorded.
    """
    rules = options.rules()
    inputs = find_files([each for each in traces if isinstance(each, str)], options.jobs)
    sources = [path for path, _ in inputs.files]
    given = inputs.take_summaries()
    check_folder(options.summaries)
    for each in options.outputs:
        check_output(each.path, sources=sources)
    check_output(options.perfetto, "--perfetto", sources)
    known = [each for each in traces if isinstance(each, Trace)]
    if given:
        refuse_what_needs_traces(given, options)
    project = Project(options, rules)
    reduced = None if known else _reduced(inputs, options, project)
    checked = (
        []
        if reduced is not None
        else run_rules_once(chain(known, inputs.read()), rules, options.step, inputs.jobs)
    )
    reports = judge(checked, project.settings)
    if options.add_ignores and project.write_ignores(reports):
        reports = judge(checked, project.settings)
    inputs.say_what_is_missing()
    if options.name is not None and checked:
        _say_where_no_name_matches(options.name, checked)
    read = summaries_of(reports, given, options) if reduced is None else reduced.summaries
    summaries = with_given(read, given, options, rules)
    codes = [report.exit_code(options.threshold) for report in summaries]
    exit_code = TidyError.exit_code if inputs.unreadable else max(codes, default=0)
    exit_code = script_status or exit_code
    if any(each.form == "html" for each in options.outputs):
        from ..page.steps import missing_steps_text

        missing = missing_steps_text([each.summary for each in reports], options.page_steps)
        if missing is not None and not is_recorded:
            raise UsageError(missing)
        if missing is not None:  # the run is not lost: its page has the steps that there are
            say(missing)
            exit_code = script_status or UsageError.exit_code
    _show_tracebacks(reports, reduced)
    if options.baseline_to is not None:
        return _write_baseline(reports, project, options, exit_code, script_status)
    before = [check([each], project.settings)[0] for each in earlier or ()]
    results = Results(
        summaries,
        rules,
        Path.cwd(),
        inputs.unreadable,
        exit_code,
        script_status,
        options.script,
        [entry_text(each) for each in project.gone(reports)],
        options.rules_url,
        [] if earlier is None else compare([*before, *reports]),
        is_recorded=is_recorded,
    )
    for each in options.outputs:
        if summaries or each.is_for_programs:
            _write(results, each, options)
    if options.perfetto is not None and reports:
        _write_perfetto(reports, options.perfetto)
    if options.summaries is not None:
        write_summaries(read, Path(options.summaries))
    return exit_code


def _reduced(inputs: InputFiles, options: ReportOptions, project: Project) -> Reduced | None:
    """Return what `read_reduced` does; of one file None, which all `inputs.jobs` share."""
    on_dask = options.dask or options.scheduler is not None
    if len(inputs.files) == 1 and not on_dask:
        return None
    from .reduced import read_reduced  # loads multiprocessing and tidy.jobs

    return read_reduced(inputs, options, project.settings)


def _say_where_no_name_matches(
    regex: str, checked: Iterable[tuple[Trace, Mapping[str, Outcome]]]
) -> None:
    """Say on stderr that no event of any trace has such a name, with those that are like it."""
    names: dict[str, str] = {}
    for trace, outcomes in checked:
        outcome = outcomes.get(_NAMED_EVENT)
        if isinstance(outcome, Checked) and outcome.findings:
            return
        for name in trace.names:
            if len(name) <= _LONGEST and len(names) < _MOST_NAMES:
                names[name.lower()] = name
                names.setdefault(name.lower().rpartition("::")[2], name)
    alike = [names[each] for each in get_close_matches(regex.lower(), names, n=3)]
    known = f"did you mean {' or '.join(dict.fromkeys(alike))}? " if alike else ""
    todo = "`tidy table TRACE --rows 0` lists names"
    say(printable(f"--name {regex}: no event has a name that matches: {known}{todo}"))


def _write_baseline(
    reports: Sequence[CheckedTrace],
    project: Project,
    options: ReportOptions,
    exit_code: int,
    script_status: int,
) -> int:
    """Write the baseline where all could be checked, to the end of the script; the exit code."""
    if script_status or exit_code == TidyError.exit_code or not reports:
        say(f"{options.baseline_to}: not written: not all could be checked")
        return exit_code or TidyError.exit_code
    target = Path(str(options.baseline_to))
    for line in project.write_baseline(reports, target, options.prune):
        sys.stdout.write(f"{line}\n")
    return 0


def _write_perfetto(reports: Sequence[CheckedTrace], to: str) -> None:
    """Write the one trace, with findings in it, whole or not at all."""
    from ..page.perfetto import to_perfetto

    if len(reports) != 1:
        raise UsageError(f"--perfetto {to}: takes one trace, and {len(reports)} were read")
    try:
        write_whole(Path(to), to_perfetto(reports[0], compressed=to.endswith(".gz")))
    except OSError as error:
        raise UsageError(f"--perfetto {to}: cannot be written: {reason_of(error)}") from error


def _show_tracebacks(reports: Sequence[CheckedTrace], reduced: Reduced | None) -> None:
    """On stderr, of rules and workers that crashed, where `TIDY_TRACEBACK` is set."""
    if not os.environ.get("TIDY_TRACEBACK"):
        return
    said = [
        (f"{code} crashed on {report.trace.info.path}", crash.traceback)
        for report in reports
        for code, crash in report.crashed.items()
    ]
    if reduced is not None:
        for path, tracebacks in reduced.tracebacks.items():
            said += [(f"{code} crashed on {path}", each) for code, each in tracebacks.items()]
        problems = reduced.problems.items()
        said += [(f"{path}: {why.text}", why.traceback) for path, why in problems if why.traceback]
    for line, traceback in said:
        say(line)
        sys.stderr.write(traceback)


def _write(results: Results, to: Output, options: ReportOptions) -> None:
    with opened(to.path, even_empty=options.quiet or to.is_document) as file:
        if to.form == "text":
            _write_text(file, results, options)
        else:
            file.write(_document(to.form, results, options))


def _document(form: str, results: Results, options: ReportOptions) -> str:
    if form == "markdown":
        from ..report.markdown import to_markdown

        return to_markdown(results)
    if form == "html":
        from ..page.document import to_html

        return to_html(results, options.page_steps)
    if form == "github":
        from ..report.github import to_annotations

        return "".join(f"{line}\n" for line in to_annotations(results))
    if form == "sarif":
        from ..report.sarif import to_sarif

        made = to_sarif(results)
    else:
        from ..report.json_report import results_to_json

        made = results_to_json(results)
    return json.dumps(made, indent=1) + "\n"


def _write_text(file: IO[str], results: Results, options: ReportOptions) -> None:
    from ..report.console import make_console
    from ..report.text import print_lines, print_report

    console = make_console(file, options.width)
    if options.quiet:
        print_lines(console, results.reports)
    else:
        print_report(console, results.reports, options.top, options.verbose)
    for each in results.gone:
        console.show(printable(f"gone, but in the baseline: {each} (tidy baseline --prune)"))
    for line in changes_text(results.recordings):
        console.show(printable(line))
    if results.script_status:
        console.show(f"The script itself ended with {results.script_status}; so does tidy run")
