"""Numbers and paths as the report writes them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tidy.report.units import location_text, ranges_text, share_text, shortened
from tidy.trace import Location, count_text, plain_name, printable, range_text, time_text

_SIZES = {"us": 10**3, "ms": 10**6, "s": 10**9}
_TIMES = st.integers(0, 10**13) | st.integers(0, 13).map(lambda digits: 10**digits - 1)


def _nanoseconds(text: str) -> float:
    number, unit = text.split(" ")
    return float(number) * _SIZES[unit]


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 us"),
        (40, "0.04 us"),
        (3_520, "3.52 us"),
        (9_994, "9.99 us"),
        (9_996, "10.0 us"),
        (99_940, "99.9 us"),
        (99_960, "100 us"),
        (999_400, "999 us"),
        (999_600, "1.00 ms"),
        (272_400_000, "272 ms"),
        (999_600_000, "1.00 s"),
        (1_044_000_000, "1.04 s"),
        (61_000_000_000, "61.0 s"),
        (1_234_000_000_000, "1234 s"),
    ],
)
def test_time(ns: int, text: str) -> None:
    assert time_text(ns) == text


@given(_TIMES)
def test_time_has_three_digits_and_is_half_a_digit_off_at_most(ns: int) -> None:
    text = time_text(ns)
    error = abs(_nanoseconds(text) - ns)
    if ns < 1000:
        assert error <= 5.001
    else:
        assert error <= 0.005001 * ns
        digits = re.sub(r"\D", "", text)
        assert len(digits) == 3 or ns >= 0.9995e12


@given(_TIMES, _TIMES)
def test_longer_never_reads_as_shorter(one: int, other: int) -> None:
    shorter, longer = sorted((one, other))
    assert _nanoseconds(time_text(shorter)) <= _nanoseconds(time_text(longer))


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0.0%"),
        (0.00001, "<0.1%"),
        (0.0004, "<0.1%"),
        (0.0006, "0.1%"),
        (0.2966, "29.7%"),
        (1.0, "100.0%"),
    ],
)
def test_share(share: float, text: str) -> None:
    assert share_text(share) == text


@given(st.floats(0, 1))
def test_share_tells_little_from_nothing(share: float) -> None:
    text = share_text(share)
    assert (text == "0.0%") == (share == 0)
    if not text.startswith("<"):
        assert abs(float(text[:-1]) - 100 * share) <= 0.0501


def test_count() -> None:
    said = [count_text(number, "step") for number in (0, 1, 2, 1200)]
    assert said == ["0 steps", "1 step", "2 steps", "1,200 steps"]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([5], "5"), ([3, 1, 0, 2, 6], "0-3, 6"), ([0, 2, 4], "0, 2, 4"), ([1, 1, 2], "1-2")],
)
def test_ranges(numbers: list[int], text: str) -> None:
    assert ranges_text(numbers) == text


@given(st.lists(st.integers(0, 40)))
def test_ranges_name_each_number_and_no_other(numbers: list[int]) -> None:
    named: list[int] = []
    for part in filter(None, ranges_text(numbers).split(", ")):
        first, _, last = part.partition("-")
        named += range(int(first), int(last or first) + 1)
    assert named == sorted(set(numbers))


_NAMES = st.text(st.characters(exclude_categories=["C", "M"]), min_size=1, max_size=60)


@given(_NAMES, st.integers(4, 80))
def test_shortened_text_fits_and_keeps_both_ends(path: str, width: int) -> None:
    short = shortened(path, width)
    assert cell_len(short) <= width
    if cell_len(path) <= width:
        assert short == path
    else:
        first = next(
            n for n in range(len(short)) if short[n : n + 3] == "..." and _fits(path, short, n)
        )
        assert first <= len(short) - 3 - first, "the end has more room"
        assert cell_len(short) >= width - 2, "a wide character may leave a column at each end"


def _fits(text: str, short: str, first: int) -> bool:
    return text.startswith(short[:first]) and text.endswith(short[first + 3 :])


def test_shortened() -> None:
    assert shortened("folder/train.py", 15) == "folder/train.py"
    assert shortened("folder/train.py", 14) == "fol...train.py"
    # Each of these characters takes two columns, 12 in all with the other four.
    assert shortened("训练/模型.py", 12) == "训练/模型.py"
    assert shortened("训练/模型.py", 11) == "训...型.py"
    assert shortened("训练/模型.py", 9) == "训....py"


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (None, "(location unknown)"),
        (Location("train.py", 42, "train", is_call_line=True), "train.py:42"),
        (Location("train.py", 40, "train"), "train.py:40 in train()"),
        (Location("train.py", 1, "<module>"), "train.py:1 in <module>"),
        (Location("a\x1b[2Jb.py", 1, "f\n"), "a?[2Jb.py:1 in f?()"),
    ],
)
def test_location(location: Location | None, text: str) -> None:
    assert location_text(location, 60) == text


@given(_NAMES, st.integers(0, 10**6 - 1), _NAMES, st.booleans(), st.integers(36, 80))
def test_locations_fit(file: str, line: int, function: str, exact: bool, width: int) -> None:
    text = location_text(Location(file, line, function, exact), width)
    assert cell_len(text) <= width
    assert f":{line}" in text


@given(st.text())
def test_printable_changes_nothing_but_what_cannot_be_printed(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown) == len(text)
    assert all(new in {old, "?"} for old, new in zip(text, shown, strict=True))
    assert shown == text or not text.isprintable()


@pytest.mark.parametrize(
    ("low_ns", "high_ns", "whole_ns", "text"),
    [
        (31_900_000, 37_740_000, 67_900_000, "31.9 to 37.7"),
        (900_000, 1_200_000, 1_500_000, "0.90 to 1.20"),
        (600, 1_200, 153_000, "0.60 to 1.20"),
        (5_001, 5_002, 9_000, "5.00"),
        (0, 12_000, 12_000, "0 to 12.0"),
        (60_000_000, 120_000_000, 1_361_000_000, "0.06 to 0.12"),
    ],
)
def test_parts_of_a_time_have_its_unit(low_ns: int, high_ns: int, whole_ns: int, text: str) -> None:
    assert range_text(low_ns, high_ns, whole_ns) == text


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        (
            "void at::native::(anonymous namespace)::adam_kernel<float>(int)",
            "at::native::adam_kernel",
        ),
        ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD"),
        ("aten::mm", "aten::mm"),
        ("<unnamed>", "<unnamed>"),
    ],
)
def test_a_name_without_types(name: str, plain: str) -> None:
    assert plain_name(name) == plain
