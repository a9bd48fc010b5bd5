"""`Report`: a checked trace with ways to show it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ..check.checked_trace import CheckedTrace


class Report(CheckedTrace):
    """The findings of one trace, and the rules that could not be checked."""

    @classmethod
    def of(cls, checked: CheckedTrace) -> Report:
        """Make the report on a checked trace."""
        return cls(**{each.name: getattr(checked, each.name) for each in fields(checked)})

    def to_json(self) -> dict[str, Any]:
        """Return the report as `docs/report.schema.json` describes it."""
        from .json_report import report_to_json

        return report_to_json(self)

    def __repr__(self) -> str:
        from .text import summary

        said = summary([self])
        return f"<Report on {self.summary.path}: {said}; print() shows it>"

    def __rich__(self) -> Any:
        from rich.text import Text

        return Text(str(self))

    def __str__(self) -> str:
        from .text import render

        return render([self])

    def _repr_html_(self) -> str:
        from .notebook import report_cell

        return report_cell(self)
