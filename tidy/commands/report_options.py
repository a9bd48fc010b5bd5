"""The options of `tidy report`, as a value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..api import prepare
from ..check.baseline import read_baseline
from ..check.keys import FORMS
from ..check.settings import Settings
from ..errors import UsageError
from ..finding import Severity
from ..page import USUAL_STEPS
from ..patterns.base import Pattern
from .files import check_output

_ENDINGS = {
    ".json": "json",
    ".sarif": "sarif",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
}


class Output(NamedTuple):
    """One form of the report; `path` is None for standard output."""

    form: str
    path: str | None

    @property
    def is_document(self) -> bool:
        """Tell whether it is one whole, which nothing else may stand beside."""
        return self.form == "html" or self.is_for_programs

    @property
    def is_for_programs(self) -> bool:
        """Tell whether programs read it, also if no trace could be read."""
        return self.form in ("json", "sarif", "markdown")


@dataclass(frozen=True)
class ReportOptions:
    """The options of `tidy report`, as its help tells, and what else a report depends on.

    Attributes:
        output: files, as `FORM=FILE` or as a name whose ending may say the form.
        warn_from: a percentage.
        script: the script that is recorded.
        costlier_from: how many percent more than then a known finding has to cost to count again.
        baseline_to: a file that the findings are written to, in place of a report.
        prune: take out of that file what is gone, and write nothing new into it.
        rules_url: where the page of the rules is published; None where nobody says so.
        page_steps: the steps that the timeline of a page shows.
        perfetto: a file for the trace with findings in it; None for none.
        jobs: how many worker processes read traces, or a large one; 1 or None for none.
        summaries: a folder for a summary of each trace; None for none.
        dask: whether Dask is to read the traces, in processes of its own.
        scheduler: the address of a Dask cluster that is to read them; None for none.
        settings: the configuration that holds, for options of rules and ignored paths.
    """

    form: str = "text"
    output: Sequence[str] = ()
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    fail_on: str = "warning"
    patterns: Sequence[str] = ()
    name: str | None = None
    top: int = 20
    savings: str = "replay"
    warn_from: float = 1.0
    width: int | None = None
    quiet: bool = False
    verbose: bool = False
    script: str | None = None
    baseline: str | None = None
    costlier_from: float = 200.0
    baseline_to: str | None = None
    prune: bool = False
    add_ignores: bool = False
    step: str | None = None
    rules_url: str | None = None
    page_steps: Sequence[str] = USUAL_STEPS
    perfetto: str | None = None
    jobs: int | None = None
    summaries: str | None = None
    dask: bool = False
    scheduler: str | None = None
    settings: Settings = field(default_factory=Settings)

    def rules(self) -> list[Pattern]:
        """Return the rules to run, after a look at what else could not be done at the end."""
        rules = prepare(
            _codes(self.select),
            _codes(self.ignore),
            self.patterns,
            self.name,
            settings=self.settings,
        )
        for each in self.outputs:
            check_output(each.path)
        check_output(self.baseline_to)
        if self.perfetto == "-" or self.perfetto in [each.path or "-" for each in self.outputs]:
            raise UsageError(f"--perfetto {self.perfetto}: name a file that nothing else is for")
        check_output(self.perfetto, "--perfetto")
        if self.baseline is not None:
            read_baseline(Path(self.baseline))  # before a script is run for it
        return rules

    @property
    def threshold(self) -> Severity | None:
        """The least severity that makes the exit code 1; None where none does."""
        return None if self.fail_on == "never" else Severity[self.fail_on.upper()]

    @property
    def outputs(self) -> list[Output]:
        """Return what `--format FORM` and each `--output` ask for.

        Without a file the report is printed. Annotations are always printed: the log of a run is
        where they are read.

        Raises:
            UsageError: a file is named twice.
        """
        outputs = [_output(self.form, each) for each in self.output]
        written = [each.path for each in outputs if each.path is not None]
        for path in written:
            if written.count(path) > 1:
                raise UsageError(f"--output {path}: named twice; each form needs a file of its own")
        is_log = self.form == "github" and all(each.form != "github" for each in outputs)
        return [*outputs, Output(self.form, None)] if is_log or not outputs else outputs

    @property
    def uses_stdout_alone(self) -> bool:
        """Tell whether standard output is to hold a document and nothing else."""
        return any(each.path is None and each.is_document for each in self.outputs)


def _output(form: str, given: str) -> Output:
    """The form stands before a file (`sarif=report.out`), else its ending says it, else `form`."""
    name, equals, path = given.partition("=")
    if equals and name in FORMS:
        return Output(name, None if path in ("", "-") else path)
    ending = _ENDINGS.get(Path(given).suffix.lower(), form)
    return Output(form if given == "-" else ending, None if given == "-" else given)


def _codes(choices: Iterable[str]) -> list[str]:
    return [code for choice in choices for code in choice.split(",") if code.strip()]
