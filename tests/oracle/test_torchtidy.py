"""What TorchTidy matched live is matched from the file of that run, but for what is listed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from .deviations import BEYOND, CODE_OF, MISSED, NEVER_ON_CPU
from .shared import (
    VERDICTS,
    decoded,
    described_by,
    findings,
    name_of,
    path_of,
    trace_of,
)

_Matches = set[tuple[str, int]]  # event name, start_ns

_VERDICTS = described_by(VERDICTS)
each_verdict = pytest.mark.parametrize("verdict", _VERDICTS, ids=lambda path: path.name)


def _name(verdict: Path) -> str:
    return name_of(verdict, VERDICTS)


def _trace(verdict: Path) -> Path:
    return trace_of(verdict, VERDICTS)


def _theirs(verdict: Path) -> dict[str, _Matches]:
    """By code of ours."""
    said = decoded(verdict)
    return {
        code: {(name, start_ns) for name, start_ns, _ in said.get(pattern, [])}
        for pattern, code in CODE_OF.items()
    }


def _ours(verdict: Path) -> dict[str, _Matches]:
    path = _trace(verdict)
    return {
        code: {(event.name, event.start_ns) for f in findings(path, code) for event in f.events}
        for code in CODE_OF.values()
    }


@each_verdict
def test_nothing_is_missed(verdict: Path) -> None:
    theirs, ours = _theirs(verdict), _ours(verdict)
    missed = Counter(
        {code: len(theirs[code] - ours[code]) for code in theirs if code not in NEVER_ON_CPU}
    )
    assert +missed == Counter(
        {code: count for (name, code), (count, _) in MISSED.items() if name == _name(verdict)}
    )


@each_verdict
def test_what_is_found_beyond_is_listed(verdict: Path) -> None:
    theirs, ours = _theirs(verdict), _ours(verdict)
    beyond = Counter({code: len(ours[code] - theirs[code]) for code in ours})
    assert +beyond == Counter(
        {code: count for (name, code), (count, _) in BEYOND.items() if name == _name(verdict)}
    )


@each_verdict
@pytest.mark.parametrize("code", NEVER_ON_CPU)
def test_what_has_no_meaning_on_a_cpu_is_never_said(verdict: Path, code: str) -> None:
    assert _ours(verdict)[code] == set()


@each_verdict
def test_the_file_that_torchtidy_names_is_named(verdict: Path) -> None:
    """TorchTidy names the caller's line, tidy the function that the trace holds: the files agree.

    Not for loops: TorchTidy names the caller of the function that loops.
    """
    path = _trace(verdict)
    said = {
        (code, name, start_ns): place.rpartition(":")[0]
        for pattern, code in CODE_OF.items()
        for name, start_ns, place in decoded(verdict).get(pattern, [])
        if ":" in place and code != "TDY404"
    }
    for code in CODE_OF.values():
        for finding in findings(path, code):
            for event in finding.events:
                file = said.get((code, event.name, event.start_ns))
                if file is not None:
                    assert finding.location is not None
                    assert finding.location.file == file


def test_the_verdicts_are_no_empty_claim() -> None:
    """In each of the two sets every pattern matches somewhere."""
    for folder in ("traces", "torch_cpu"):
        matches: Counter[str] = Counter()
        for verdict in _VERDICTS:
            if verdict.parent.name == folder:
                matches.update({code: len(found) for code, found in _theirs(verdict).items()})
        assert {code for code, count in matches.items() if count} == set(CODE_OF.values())


def test_the_lists_name_traces_that_exist() -> None:
    for name, code in (*MISSED, *BEYOND):
        assert path_of(name).is_file()
        assert code in CODE_OF.values()
