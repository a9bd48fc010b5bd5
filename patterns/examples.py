"""Examples inside a rule: small traces in outline form on which it fires or stays quiet."""

from __future__ import annotations

from dataclasses import dataclass

from tidy.finding import Severity
from tidy.trace import Trace
from tidy.trace.outline import parse_outline


@dataclass(frozen=True, slots=True)
class Example:
    """A trace as `tidy.trace.outline` writes it, under a name of its own."""

    name: str
    outline: str

    def trace(self) -> Trace:
        return parse_outline(self.outline)


@dataclass(frozen=True, slots=True)
class Fires(Example):
    """The rule finds something here.

    Attributes:
        events: how many events it matches.
        at: the place it names, `train.py:12`; "" for none.
        severity: of the findings, where it differs from the rule's.
    """

    events: int = 1
    at: str = ""
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Quiet(Example):
    """The rule finds nothing here."""


@dataclass(frozen=True, slots=True)
class Abstains(Example):
    """The rule says that it cannot or need not check this."""
