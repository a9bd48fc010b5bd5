"""Ranks of one job are one section; what they have in common is said once."""

from __future__ import annotations

from tidy import Finding, Report, Severity
from tidy.finding import Crashed, NotApplicable, NotChecked, Outcome
from tidy.report.sections import PlaceOnRanks, Section, make_sections

from .making import finding, report, trace

_SHAPES = NotChecked("no input shapes recorded", "record with record_shapes=True")
_NO_GPU = NotApplicable("no GPU took part in this run")


def _ranks(sections: list[Section]) -> list[list[int | None]]:
    return [[run.rank for run in section.runs] for section in sections]


def _of_rank(number: int, *found: Finding, of: int = 2, **others: Outcome) -> Report:
    return report(*found, run=trace(rank=number, of=of), **others)


def _numbers(place: PlaceOnRanks) -> tuple[int, int, float | None, tuple[int, ...]]:
    return place.count, place.cost_ns, place.cost_share, place.ranks


def test_ranks_come_together_and_in_order() -> None:
    made = [_of_rank(n, of=4) for n in (2, 0, 3)]
    (section,) = make_sections(made)
    assert [run.rank for run in section.runs] == [0, 2, 3]
    assert section.rank_count == 3


def test_what_is_no_further_rank_is_a_job_of_its_own() -> None:
    alone = report()
    single = _of_rank(0, of=1)
    made = [alone, _of_rank(0), single, _of_rank(1), _of_rank(0, of=4), alone]
    assert _ranks(make_sections(made)) == [[None], [0, 1], [0], [0], [None]]
    assert [section.rank_count for section in make_sections(made)] == [0, 2, 0, 1, 0]


def test_a_rank_seen_again_begins_another_job() -> None:
    made = [_of_rank(n) for n in (0, 1, 0, 1)]
    assert _ranks(make_sections(made)) == [[0, 1], [0, 1]]


def test_the_costliest_rank_speaks_for_all() -> None:
    made = [
        _of_rank(0, finding(message="12 rounds", matches=3, cost_ns=50, cost_share=0.1)),
        _of_rank(1, finding(message="14 rounds", matches=2, cost_ns=70, cost_share=0.3)),
    ]
    (place,) = make_sections(made)[0].places
    assert place.finding.message == "14 rounds"
    assert _numbers(place) == (5, 70, 0.3, (0, 1))


def test_different_places_rules_severities_and_messages_stay_apart() -> None:
    common = finding()
    others = [
        finding(at="train.py:8"),
        finding("XYZ002"),
        finding(severity=Severity.ERROR),
        finding(message="something else"),
        finding(at=""),
    ]
    (section,) = make_sections([_of_rank(0, common), _of_rank(1, common, *others)])
    assert sorted(place.ranks for place in section.places) == [(0, 1)] + [(1,)] * 5
    assert section.count(Severity.ERROR) == 1
    assert section.count(Severity.WARNING) == 5


def test_two_loops_of_one_function_stay_two_on_every_rank() -> None:
    """Their messages differ in the number of rounds alone."""
    loops = [
        finding(message="12 rounds", cost_ns=20),
        finding(message="99 rounds", cost_ns=90),
    ]
    (section,) = make_sections([_of_rank(0, *loops), _of_rank(1, *reversed(loops))])
    said = [(place.finding.message, *_numbers(place)) for place in section.places]
    assert said == [("99 rounds", 2, 90, None, (0, 1)), ("12 rounds", 2, 20, None, (0, 1))]


def test_what_one_trace_says_twice_of_a_place_is_added_up() -> None:
    """As with the same loop in every step: costs of one rank add up, of ranks they do not."""
    steps = [finding(cost_ns=ns, cost_share=share) for ns, share in ((20, 0.2), (30, 0.3))]
    (place,) = make_sections([report(*steps)])[0].places
    assert _numbers(place) == (2, 50, 0.5, (0,))
    (place,) = make_sections([_of_rank(0, *steps), _of_rank(1, steps[0])])[0].places
    assert _numbers(place) == (3, 50, 0.5, (0, 1))


def test_shares_never_add_up_to_more_than_all() -> None:
    found = [finding(cost_ns=80, cost_share=0.8), finding(cost_ns=80, cost_share=0.8)]
    (place,) = make_sections([report(*found)])[0].places
    assert place.cost_share == 1.0


def test_places_are_ranked_by_what_they_cost_together() -> None:
    small = [finding("XYZ001", cost_ns=30, cost_share=0.3)] * 2
    large = finding("XYZ002", cost_ns=50, cost_share=0.5)
    (section,) = make_sections([report(large, *small)])
    assert [place.finding.code for place in section.places] == ["XYZ001", "XYZ002"]


def test_a_gap_of_any_rank_is_a_gap() -> None:
    made = [
        _of_rank(0, of=3),
        _of_rank(1, of=3, XYZ001=_SHAPES, XYZ002=_SHAPES),
        _of_rank(2, of=3, XYZ001=_SHAPES),
    ]
    (section,) = make_sections(made)
    said = [(gap.why, gap.codes, gap.ranks) for gap in section.not_checked]
    assert said == [(_SHAPES, ("XYZ001",), (1, 2)), (_SHAPES, ("XYZ002",), (1,))]


def test_a_rule_is_moot_where_it_is_so_for_all_ranks() -> None:
    made = [_of_rank(0, XYZ001=_NO_GPU, XYZ002=_NO_GPU), _of_rank(1, XYZ001=_NO_GPU)]
    (section,) = make_sections(made)
    assert section.not_applicable == {_NO_GPU: ["XYZ001"]}


def test_a_crash_on_one_rank_is_told() -> None:
    crash = Crashed("ValueError")
    (section,) = make_sections([_of_rank(0), _of_rank(1, XYZ001=crash)])
    assert section.crashed == {"XYZ001": crash}
