"""Times come out in exact nanoseconds, however Kineto wrote its microseconds at the time."""

from __future__ import annotations

import json

import pytest

from .conftest import Read
from .written import document, event, names, starts_ns, warning_count, with_times

BASE_NS = 1_790_857_026_000_000_000


def times_ns(read: Read, *written: tuple[str, str], **header: object) -> list[tuple[int, int]]:
    trace = read(with_times(*written, **header))
    assert trace.info.warnings == []
    return sorted((e.start_ns, e.duration_ns) for e in trace.events())


def test_whole_microseconds_since_1970(read: Read) -> None:
    assert times_ns(read, ("1623143566756123", "17"), ("1623143566756999", "0")) == [
        (1_623_143_566_756_123_000, 17_000),
        (1_623_143_566_756_999_000, 0),
    ]


def test_nineteen_digits_are_exact_to_the_nanosecond(read: Read) -> None:
    # No binary float holds these; neighbours among them are 250 ns apart.
    written = [(f"1712345678901234.{n:03}", f"0.{n:03}") for n in range(0, 1000, 7)]
    written.append(("1712345678901300.000", "123456.789"))
    assert times_ns(read, *written) == [
        *((1_712_345_678_901_234_000 + n, n) for n in range(0, 1000, 7)),
        (1_712_345_678_901_300_000, 123_456_789),
    ]


def test_base_and_decimals_are_rounded_not_truncated(read: Read) -> None:
    # 4336412711511.664 is no binary float: the nearest is less, and would be cut to .663.
    found = times_ns(
        read, ("4336412711511.664", "0.001"), ("4336412711594.628", "12.702"),
        baseTimeNanoseconds=BASE_NS,
    )  # fmt: skip
    assert found == [
        (BASE_NS + 4_336_412_711_511_664, 1),
        (BASE_NS + 4_336_412_711_594_628, 12_702),
    ]


def test_base_after_the_events(read: Read) -> None:
    events = json.dumps([event(ts=1.5)])
    trace = read(f'{{"traceEvents": {events}, "baseTimeNanoseconds": {BASE_NS}}}')
    assert starts_ns(trace) == [BASE_NS + 1500]


def test_unpadded_decimals_of_march_2024(read: Read) -> None:
    # Kineto left out leading zeros for two weeks: .5 stands for 5 ns, .64 for 64 ns.
    found = times_ns(
        read,
        ("1710900000000000.5", "3.7"),
        ("1710900000000000.64", "2"),
        ("1710900000000000.123", "1.99"),
    )
    assert found == [
        (1_710_900_000_000_000_005, 3007),
        (1_710_900_000_000_000_064, 2000),
        (1_710_900_000_000_000_123, 1099),
    ]


def test_short_decimals_left_by_rewriting_are_fractions(read: Read) -> None:
    written = [json.dumps(1_712_345_678_901_234 + n / 4) for n in range(8)]
    found = times_ns(read, *((ts, "1") for ts in written))
    expected = [round(float(ts) * 4) * 250 for ts in written]
    assert [start for start, _ in found] == pytest.approx(expected, abs=60)


def test_decimals_of_a_short_run_are_fractions(read: Read) -> None:
    assert times_ns(read, ("0.5", "0.25"), ("7.1", "3.3")) == [(500, 250), (7100, 3300)]


@pytest.mark.parametrize("ts", ["1712345678901234.567", "1712345678901234567e-3"])
def test_times_written_as_text(read: Read, ts: str) -> None:
    found = times_ns(read, (f'"{ts}"', '"2.250"'), (f'"{ts}"', '"2.250"'))
    assert found == [(1_712_345_678_901_234_567, 2250)] * 2


def test_text_beside_numbers_is_read_alike(read: Read) -> None:
    found = times_ns(
        read, ("4336412711511.664", "1"), ('"4336412711511.670"', "1.027"), baseTimeNanoseconds=0
    )
    assert found == [(4_336_412_711_511_664, 1000), (4_336_412_711_511_670, 1027)]


def test_an_odd_value_elsewhere_changes_no_time(read: Read) -> None:
    # ROCm writes streams as "0x0": the decimals must stay three, not become unpadded ones.
    events = [event("op", 1, 1, args={"Ev Idx": 0}), event("k", 2, 2, cat="kernel", args={})]
    text = document(events, baseTimeNanoseconds=0)
    text = text.replace('"ts": 1,', '"ts": 1739836029604956.270,').replace(
        "{}", '{"stream": "0x0"}'
    )
    text = text.replace('"ts": 2,', '"ts": 1739836029604957.030,')
    assert starts_ns(read(text)) == [1_739_836_029_604_956_270, 1_739_836_029_604_957_030]


@pytest.mark.parametrize(
    ("base", "expected"),
    [(5000, 5000), ("5000", 5000), (5000.0, 5000), (0, 0), (None, 0)],
)
def test_types_of_the_base_time(read: Read, base: object, expected: int) -> None:
    trace = read(document([event(ts=1)], baseTimeNanoseconds=base))
    assert starts_ns(trace) == [expected + 1000]
    assert trace.info.warnings == []


@pytest.mark.parametrize("base", [-1, 2**63, 2**70, "soon", [1], {"a": 1}, True, 1.5, "9" * 5000])
def test_a_base_that_is_no_time_is_left_out_with_a_warning(read: Read, base: object) -> None:
    trace = read(document([event(ts=1)], baseTimeNanoseconds=base))
    assert starts_ns(trace) == [1000]
    assert any("baseTimeNanoseconds" in warning for warning in trace.info.warnings)


@pytest.mark.parametrize(
    "ts", ["1e999", "-1e999", "1e18", "-9e15", '"soon"', "null", "[]", '"NaN"']
)
def test_events_without_a_usable_time_are_left_out_and_counted(read: Read, ts: str) -> None:
    trace = read(with_times(("1", "1"), (ts, "1"), (ts, "1"), ("2", "1")))
    assert names(trace) == ["op0", "op3"]
    assert warning_count(trace, "without a usable time") == "2"


def test_zero_among_times_since_1970_is_no_time(read: Read) -> None:
    trace = read(document([event("a", 0), event("b", 1_623_143_566_756_123), event("c", 0)]))
    assert names(trace) == ["b"]
    assert warning_count(trace, "without a usable time") == "2"


def test_zero_is_the_start_of_a_run_that_counts_from_there(read: Read) -> None:
    assert names(read(document([event("a", 0), event("b", 100)]))) == ["a", "b"]


@pytest.mark.parametrize("dur", ["-1", "-0.001", "1e999", "1e13", '"long"', "null"])
def test_impossible_durations_are_zero_and_counted(read: Read, dur: str) -> None:
    trace = read(with_times(("1", dur), ("20", "3")))
    assert [e.duration_ns for e in trace.events()] == [0, 3000]
    assert warning_count(trace, "durations") == "1"
