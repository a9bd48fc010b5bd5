"""The comparison for programs: JSON, Markdown for a pull request, annotations of a CI run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ..report.github import MOST_SHOWN, command
from ..report.json_report import written_by
from ..report.markdown import details, escaped
from ..trace import count_text, time_text
from . import wording
from .compare import Comparison, OpChange
from .interval import CONFIDENCE
from .side import Side

SCHEMA_VERSION = 1
_MOST_ROWS = 20


def to_json(pair: Comparison, exit_code: int, allowed: float | None) -> dict[str, Any]:
    """Return the comparison as docs/diff.md describes it. Changes are parts: 0.05 stands for 5 %.

    Args:
        allowed: by what part steps may grow; None where nothing is asked.
    """
    made: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "tool": written_by(),
        "base": _side(pair.base),
        "new": _side(pair.new),
        "comparable": not pair.differences,
        "differences": [each._asdict() for each in pair.differences],
        "allowed_differences": [each._asdict() for each in pair.overlooked],
        "not_checked": pair.unknown,
        "exit_code": exit_code,
    }
    if pair.differences:
        return made
    came, went = pair.findings
    return made | {
        "verdict": pair.verdict,
        "confidence": CONFIDENCE,
        "step": pair.step and pair.step._asdict(),
        "step_alone": pair.raw and pair.raw._asdict(),
        "machine": pair.machine._asdict(),
        "least_regression": pair.least_regression,
        "regression_allowed": allowed,
        "ops": [_op(change) for change in pair.ops],
        "account": [
            {**part._asdict(), "base_ns": base_ns, "new_ns": new_ns}
            for part, base_ns, new_ns in pair.account
        ],
        "findings": {"new": list(map(asdict, came)), "gone": list(map(asdict, went))},
        "memory": [
            {"what": what, "base_nbytes": base, "new_nbytes": new}
            for what, base, new in pair.memory
        ],
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "path": side.path,
        "runs": len(side.runs),
        "steps": len(side.steps_ns),
        "independent_steps": side.independent_count,
        "median_ns": side.step_ns,
    }


def _op(change: OpChange) -> dict[str, Any]:
    made = asdict(change)
    made["growth"] = change.growth and change.growth._asdict()
    return made | {"key": change.key._asdict(), "of_step": change.of_step._asdict()}


def to_markdown(pair: Comparison, allowed: float | None) -> str:
    """Return the comparison for a comment on a pull request."""
    return "\n\n".join(_paragraphs(pair, allowed)) + "\n"


def _paragraphs(pair: Comparison, allowed: float | None) -> Iterator[str]:
    yield f"## tidy diff: {escaped(wording.verdict_text(pair))}"
    base, new = (escaped(wording.side_text(side)) for side in (pair.base, pair.new))
    yield f"**base** {base}  \n**new** {new}"
    if pair.differences:
        yield _listed(wording.difference_text(each) for each in pair.differences)
        return
    if allowed is not None:
        yield f"**{escaped(wording.regression_text(pair.least_regression, allowed))}**"
    yield from (f"> {escaped(note)}" for note in wording.notes(pair))
    if certain := [each for each in pair.ops if each.is_certain]:
        yield "\n".join(_ops_table(certain))
    came, went = pair.findings
    for title, some in (("new", came), ("gone", went)):
        if some:
            yield f"**{count_text(len(some), 'finding')} {title}**"
            yield _listed(map(wording.finding_text, some[:_MOST_ROWS]))
    if pair.account:
        yield details("where an average step goes", _account_table(pair))
    if pair.memory:
        yield _listed(map(wording.memory_text, pair.memory))


def _listed(texts: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(text)}" for text in texts)


def _ops_table(certain: Sequence[OpChange]) -> Iterator[str]:
    yield "| | what | a step |"
    yield "|---|---|---|"
    for each in certain[:_MOST_ROWS]:
        cells = (each.what, escaped(wording.op_text(each)), escaped(wording.op_times(each)))
        yield f"| {' | '.join(cells)} |"
    if len(certain) > _MOST_ROWS:
        yield f"| | {count_text(len(certain) - _MOST_ROWS, 'more change')} | |"


def _account_table(pair: Comparison) -> Iterator[str]:
    yield "| base | new | where it goes |"
    yield "|---:|---:|---|"
    for part, base_ns, new_ns in pair.account:
        times = f"{time_text(round(base_ns))} | {time_text(round(new_ns))}"
        yield f"| {times} | {escaped(str(part))} |"


def to_annotations(pair: Comparison, allowed: float | None) -> Iterator[str]:
    """Lines to print in a GitHub Actions run: the verdict, what grew, and new findings."""
    if pair.differences:
        for each in pair.differences:
            yield command("error", wording.difference_text(each), title="tidy diff")
        return
    least = pair.least_regression
    failed = allowed is not None and least is not None and least > allowed
    kind = "error" if failed else "warning" if pair.verdict == "slower" else "notice"
    yield command(kind, wording.verdict_text(pair), title="tidy diff")
    grown = [o for o in pair.ops if o.is_certain and o.what in ("came", "grew")]
    for change in grown[: MOST_SHOWN - 1]:
        text = f"{change.what}: {wording.op_text(change)}: {wording.op_times(change)}"
        yield command("warning", text, title="tidy diff")
    for found in pair.findings[0][: MOST_SHOWN - 1]:
        text = f"new: {found.said}\n-> {found.fix}"
        yield command("notice", text, title=f"{found.code} {found.name}")
