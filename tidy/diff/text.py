"""The comparison that a person reads."""

from __future__ import annotations

from rich.text import Text

from ..report.console import ReportConsole
from ..report.units import shortened
from ..trace import printable, time_text
from . import wording
from .compare import Comparison

_STYLES = {"slower": "bold red", "faster": "bold green"}
_MOST_PARTS = 8
_CAUSE_WIDTH, _TIMES_WIDTH = 40, len("       BASE       NEW  of a step") + 2


def print_comparison(
    console: ReportConsole, pair: Comparison, top: int = 20, allowed: float | None = None
) -> None:
    """Print both runs beside each other.

    Args:
        top: of ops and findings at most so many, 0 for all.
        allowed: by what part steps may grow; None where nothing is asked.
    """
    console.show(f"BASE  {console.fitted(wording.side_text(pair.base), console.width - 6)}")
    console.show(f"NEW   {console.fitted(wording.side_text(pair.new), console.width - 6)}")
    console.show()
    if pair.differences:
        console.show(Text("Not comparable", "bold red"))
        for each in pair.differences:
            console.wrapped(wording.difference_text(each), indent=2)
        return
    console.wrapped(wording.verdict_text(pair), _STYLES.get(pair.verdict, "bold"))
    if allowed is not None:
        console.wrapped(wording.regression_text(pair.least_regression, allowed))
    for note in wording.notes(pair):
        console.wrapped(note, "dim")
    _print_ops(console, pair, top)
    _print_account(console, pair)
    _print_findings(console, pair, top)
    if pair.memory:
        console.show()
        console.show(Text("Most memory at once", "bold"))
        for row in pair.memory:
            console.show(f"  {wording.memory_text(row)}")


def _print_ops(console: ReportConsole, pair: Comparison, top: int) -> None:
    certain = [each for each in pair.ops if each.is_certain]
    if pair.ops:
        console.show()
        console.show(Text("What came, went, grew or shrank in a step", "bold"))
    for change in certain[: top or None]:
        style = "red" if change.of_step.estimate > 0 else "green"
        console.show(Text(f"  {change.what:6} ", style).append(wording.op_text(change)), hang=9)
        console.show(Text(f"         {wording.op_times(change)}", "dim"))
    left = len(certain) - len(certain[: top or None])
    uncertain = [each for each in pair.ops if not each.is_certain]
    if left:
        console.show(f"  and {left} more (--top 0 shows all)")
    if uncertain:
        largest = uncertain[0]
        console.wrapped(
            f"{len(uncertain)} more may have changed by chance; most of all"
            f" {wording.op_text(largest)}: {wording.op_times(largest)}",
            "dim",
            indent=2,
        )


def _print_account(console: ReportConsole, pair: Comparison) -> None:
    if not pair.account:
        return
    whole = sum(pair.base.account.values())
    console.show()
    console.show(Text("Where an average step goes", "bold"))
    room = min(_CAUSE_WIDTH, console.width - _TIMES_WIDTH)
    console.show(Text(f"  {'':{room}} {'BASE':>9} {'NEW':>9}  of a step", "dim"))
    for part, base_ns, new_ns in pair.account[:_MOST_PARTS]:
        name = shortened(printable(str(part)), room)
        times = f"{time_text(round(base_ns)):>9} {time_text(round(new_ns)):>9}"
        console.show(f"  {name:{room}} {times}  {(new_ns - base_ns) / whole:+.1%}")


def _print_findings(console: ReportConsole, pair: Comparison, top: int) -> None:
    came, went = pair.findings
    if not came and not went:
        return
    console.show()
    console.show(Text("Findings", "bold"))
    for what, style, some in (("new", "yellow", came), ("gone", "green", went)):
        for found in some[: top or None]:
            said = Text(f"  {what:5} ", style).append(wording.finding_text(found))
            console.show(said, hang=8)
        if top and len(some) > top:
            console.show(f"  and {len(some) - top} more that are {what} (--top 0 shows all)")
