"""`tidy diff`: two runs beside each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..check.checked_trace import CheckedTrace
from ..check.pipeline import CheckSettings, judge
from ..diff import Comparison, Side, is_report, side_of_report, side_of_traces
from ..diff.wording import difference_text
from ..errors import TidyError, UsageError
from ..progress import say
from .files import check_output, find_files, opened
from .report import run_rules_once
from .report_options import Output, ReportOptions

FORMS = ("text", "json", "markdown", "github", "html")


def run_diff(
    base: str,
    new: str,
    allow: Sequence[str],
    fail_on_regression: float | None,
    options: ReportOptions,
) -> int:
    """Read both, compare and print. Gives the exit code.

    Args:
        allow: what may differ: words of `WHATS`, or "all".
        fail_on_regression: by what part steps may grow; None where nothing is asked.
        options: the rules to run, and how the comparison is printed.
    """
    outputs = options.outputs
    for each in outputs:
        if each.form not in FORMS:
            raise UsageError(f"--output {each.path}: tidy diff writes {', '.join(FORMS)}")
        check_output(each.path, sources=[base, new])
    # The page alone shows the traces; without it only one is in memory at a time.
    with_traces = any(each.form == "html" for each in outputs)
    sides = [_side(each, options, with_traces) for each in (base, new)]
    pair = Comparison(sides[0][0], sides[1][0], allow)
    for difference in pair.differences:
        say(f"not comparable: {difference_text(difference)}")
    exit_code = _exit_code(pair, fail_on_regression)
    for each in outputs:
        if each.form == "html":
            from ..page.comparison import comparison_to_html

            traces = [reports for _, reports in sides]
            with opened(each.path, even_empty=True) as file:
                file.write(comparison_to_html(pair, fail_on_regression, *traces))
        else:
            _write(each, pair, exit_code, fail_on_regression, options)
    return exit_code


def _exit_code(pair: Comparison, allowed: float | None) -> int:
    if pair.differences:
        return TidyError.exit_code
    least = pair.least_regression
    return int(allowed is not None and least is not None and least > allowed)


def _side(
    path: str, options: ReportOptions, with_traces: bool
) -> tuple[Side, Sequence[CheckedTrace]]:
    """Return a side, and its traces if wanted; a report in their place has none."""
    content = _report_in(path)
    if content is not None:
        try:
            return side_of_report(path, content), []
        except ValueError as error:
            raise UsageError(f"{path}: {error}") from None
    inputs = find_files([path], options.jobs)
    rules = options.rules()
    # Comments that accept findings are not read: the sources of at least one side have changed.
    settings = CheckSettings(rules, options.settings.path_ignores, savings=options.savings)
    reports = judge(run_rules_once(inputs.read(), rules), settings)
    inputs.say_what_is_missing()
    if inputs.unreadable or not reports:
        raise UsageError(f"{path}: could not be read, so that nothing is compared")
    return side_of_traces(path, reports), reports if with_traces else []


def _report_in(path: str) -> bytes | None:
    """Return what is in a report; None for a trace, a folder, and a file that is not there."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(4096)
            return head + file.read() if is_report(head) else None
    except OSError:
        return None


def _write(
    to: Output, pair: Comparison, exit_code: int, allowed: float | None, options: ReportOptions
) -> None:
    with opened(to.path, even_empty=True) as file:
        if to.form == "text":
            from ..diff.text import print_comparison
            from ..report.console import make_console

            console = make_console(file, options.width)
            print_comparison(console, pair, options.top, allowed)
            return
        from ..diff import forms

        if to.form == "json":
            text = json.dumps(forms.to_json(pair, exit_code, allowed), indent=1) + "\n"
        elif to.form == "markdown":
            text = forms.to_markdown(pair, allowed)
        else:
            text = "".join(f"{line}\n" for line in forms.to_annotations(pair, allowed))
        file.write(text)
