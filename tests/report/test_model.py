"""`Report`: what was found, in the order in which it matters."""

from __future__ import annotations

import builtins
from itertools import permutations

import pytest

from tidy import Report, Severity
from tidy.finding import Checked, Crashed, NotApplicable, NotChecked, Outcome

from .making import finding, report, trace

_INFO, _WARNING, _ERROR = Severity.INFO, Severity.WARNING, Severity.ERROR
# Errors first, then what costs most, whatever its severity, and then whatever is always the same.
_RANKED = [
    finding("XYZ009", _ERROR),
    finding("XYZ001", _INFO, cost_ns=10**9, cost_share=1.0),
    finding("XYZ007", _WARNING, cost_ns=900, cost_share=0.2),
    finding("XYZ006", _WARNING, cost_ns=800, cost_share=0.2),
    finding("XYZ005", _WARNING, cost_ns=700),
    finding("XYZ003", _WARNING, at="a.py:1"),
    finding("XYZ003", _WARNING, at="b.py:1"),
    finding("XYZ004", _WARNING, at="a.py:1"),
    finding("XYZ002", _INFO),
]


def test_order_of_findings() -> None:
    expected = [(each.code, each.location) for each in _RANKED]
    for order in (_RANKED, _RANKED[::-1], [*_RANKED[4:], *_RANKED[:4]]):
        found = report(*order).findings
        assert [(each.code, each.location) for each in found] == expected


def test_order_of_few_does_not_hang_on_the_order_of_rules() -> None:
    for order in permutations(_RANKED[5:8]):
        assert [each.code for each in report(*order).findings] == ["XYZ003", "XYZ003", "XYZ004"]


def test_counts() -> None:
    counts = report(*_RANKED).counts
    assert (counts[_ERROR], counts[_WARNING], counts[_INFO]) == (1, 6, 2)
    assert not report().counts


@pytest.mark.parametrize(
    ("severity", "codes"),
    [(_INFO, [1, 0, 0, 0]), (_WARNING, [1, 1, 0, 0]), (_ERROR, [1, 1, 1, 0])],
)
def test_exit_code(severity: Severity, codes: list[int]) -> None:
    made = report(finding(severity=severity))
    assert [made.exit_code(limit) for limit in (_INFO, _WARNING, _ERROR, None)] == codes
    assert made.exit_code() == made.exit_code(_WARNING)


def test_a_crash_outweighs_all() -> None:
    made = report(finding(), XYZ002=Crashed("ValueError"))
    assert [made.exit_code(limit) for limit in (_INFO, _ERROR, None)] == [2, 2, 2]
    assert report().exit_code(_INFO) == 0


def test_each_outcome_is_listed_once() -> None:
    outcomes: dict[str, Outcome] = {
        "XYZ001": Checked(),
        "XYZ002": NotChecked("no shapes recorded", "record them"),
        "XYZ003": NotApplicable("no GPU"),
        "XYZ004": Crashed("ValueError: no"),
    }
    made = Report(trace(), outcomes, ())
    assert list(made.not_checked) == ["XYZ002"]
    assert list(made.not_applicable) == ["XYZ003"]
    assert list(made.crashed) == ["XYZ004"]
    written = made.to_json()
    assert written["checked"] == ["XYZ001"]
    assert written["not_checked"] == [
        {"code": "XYZ002", "reason": "no shapes recorded", "remedy": "record them"}
    ]
    assert written["not_applicable"] == [{"code": "XYZ003", "reason": "no GPU"}]
    assert written["crashed"] == [{"code": "XYZ004", "error": "ValueError: no"}]


def test_json_has_the_findings_in_their_order() -> None:
    written = report(*_RANKED).to_json()["findings"]
    assert [each["code"] for each in written] == [each.code for each in _RANKED]
    assert written[4]["cost_share"] is None
    assert written[0]["location"] == {
        "file": "train.py", "line": 7, "function": "train", "is_call_line": True,
    }  # fmt: skip


def test_the_text_is_plain_wherever_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made = report(finding())
    plain = str(made)

    class ZMQInteractiveShell:
        """By this name one knows a notebook."""

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    assert str(made) == plain
    assert "something that costs" in plain
    assert "\x1b" not in plain
