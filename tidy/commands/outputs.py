"""Where a report is written, and in which form: `--format` and `--output`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..check.keys import FORMS
from ..errors import UsageError

_ENDINGS = {".json": "json", ".sarif": "sarif", ".md": "markdown", ".markdown": "markdown"}


class Output(NamedTuple):
    """One form of the report; `path` is None for standard output."""

    form: str
    path: str | None

    @property
    def is_document(self) -> bool:
        """Whether programs read it as a whole, also where no trace could be read."""
        return self.form in ("json", "sarif", "markdown")


def outputs_of(form: str, files: Sequence[str]) -> list[Output]:
    """What `--format FORM` and each `--output` ask for.

    A file has the form that stands before it (`sarif=report.out`), else that of its ending, else
    `form`. Without a file the report is printed. Annotations are always printed: the log of a run
    is where they are read.

    Raises:
        UsageError: a file is named twice.
    """
    outputs = [_output(form, each) for each in files]
    written = [each.path for each in outputs if each.path is not None]
    for path in written:
        if written.count(path) > 1:
            raise UsageError(f"--output {path}: named twice; each form needs a file of its own")
    if not outputs or (form == "github" and all(each.form != "github" for each in outputs)):
        outputs.append(Output(form, None))
    return outputs


def _output(form: str, given: str) -> Output:
    name, equals, path = given.partition("=")
    if equals and name in FORMS:
        return Output(name, None if path in ("", "-") else path)
    ending = _ENDINGS.get(Path(given).suffix.lower(), form)
    return Output(form if given == "-" else ending, None if given == "-" else given)
