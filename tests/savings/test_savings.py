"""What fixes save, on runs whose steps can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

import tidy
from tidy import Finding, Severity, Trace
from tidy.check.weigh import weigh
from tidy.finding import CostOfFinding, Fix, Judged, Saving
from tidy.patterns.examples import copy, launch, on_gpu, steps
from tidy.savings import Edit, Savings
from tidy.savings.graph import build_graph
from tidy.trace import EventKind, Intervals, TraceInfo, build_trace
from tidy.trace.outline import parse_outline
from tidy.trace.raw_columns import RawColumns, Track

_FETCH = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
_MS = 1_000_000
# Measured savings were up to 8 % less than replayed ones: so much smaller is the least saving.
_SURELY = 0.92


def _host(trace: Trace, *names: str) -> dict[int, Intervals]:
    """When ops of these names ran, on the one thread of the trace."""
    return {0: trace.time_of(trace.rows_named(*names))}


def _saved(trace: Trace, *edits: Edit) -> tuple[list[int], list[int]]:
    low, high = Savings(trace, trace.window.step_ranges, 0).saved(edits)
    return low.tolist(), high.tolist()


def _on_cpu() -> Trace:
    """Three steps of 1,000 us, with two ops of 300 and 200 us in each."""
    return parse_outline(steps("aten::sort 300us", "aten::cat 200us"))


def test_on_a_cpu_all_of_an_op_is_saved() -> None:
    low, high = _saved(_on_cpu(), Edit("gone", host=_host(_on_cpu(), "aten::sort")))
    assert (low, high) == ([int(_SURELY * 300_000)] * 3, [300_000] * 3)


def test_what_stays_is_not_saved() -> None:
    edit = Edit("shorter", host=_host(_on_cpu(), "aten::sort"), left=(0.1, 0.5))
    low, high = _saved(_on_cpu(), edit)
    assert high == [270_000] * 3
    assert low == [int(_SURELY * 150_000)] * 3


def test_what_two_fixes_save_counts_once() -> None:
    both = Edit("both", host=_host(_on_cpu(), "aten::sort", "aten::cat"))
    one = Edit("one", host=_host(_on_cpu(), "aten::sort"))
    assert _saved(_on_cpu(), both, one) == _saved(_on_cpu(), both)
    assert _saved(_on_cpu(), one, one) == _saved(_on_cpu(), one)
    other = Edit("other", host=_host(_on_cpu(), "aten::cat"))
    assert _saved(_on_cpu(), one, other) == _saved(_on_cpu(), both)


def _busy_gpu(kernel_us: int, count: int = 5) -> Trace:
    """Steps of 1,000 us: an op on the host of 400 us, then a launch of one long kernel."""
    work = launch("aten::mm", f"gemm {kernel_us}us")
    return parse_outline(on_gpu(steps("aten::sort 400us", work, count=count)))


def test_time_that_the_queue_of_a_device_hides_is_not_saved() -> None:
    """The device needs all of each step for its kernel, but for the first, so the host has time."""
    trace = _busy_gpu(1000)
    edit = Edit("gone", host=_host(trace, "aten::sort"))
    assert max(_saved(trace, edit)[1][1:]) < 20_000
    idle = _busy_gpu(100)
    assert min(_saved(idle, Edit("gone", host=_host(idle, "aten::sort")))[1]) == 400_000


def test_kernels_that_are_launched_no_more_take_no_turns() -> None:
    """A device turns to its next kernel in a microsecond: those of 60 rounds would take 60."""
    rounds = launch("aten::mul 10us", "mul 5us", call="cudaLaunchKernel 4us") * 60
    after = launch("aten::mm", "gemm")
    trace = parse_outline(on_gpu(steps(rounds, after, count=3, lasts_us=None)))
    work = [each.row for each in trace.events(trace.device_rows) if each.name == "mul"]
    whole = Intervals(*zip(*_loops(trace), strict=True))
    _, high = _saved(trace, Edit("gone", host={0: whole}, work=work))
    assert min(high) >= whole.total_ns / 3 - 10_000
    # Kernels that only get shorter are still there, one after the other.
    calls = trace.time_of(each.row for each in trace.named("cudaLaunchKernel"))
    _, high = _saved(trace, Edit("shorter", host={0: whole - calls}, work=work))
    assert max(high) <= whole.total_ns / 3 - 60_000


def _loops(trace: Trace) -> list[tuple[int, int]]:
    """When the products of each step begin and end."""
    products = list(trace.named("aten::mul"))
    return [
        (each[0].start_ns, each[-1].end_ns) for each in zip(*[iter(products)] * 60, strict=True)
    ]


_READ = "aten::item > aten::_local_scalar_dense"
_ITEM = copy("DtoH (Device -> Pageable) 1us 4B", op=_READ, call="cudaMemcpyAsync 940us")


def _waits(trace: Trace) -> Edit:
    calls = trace.rows_of_kind(EventKind.Runtime)
    return Edit("no waits", waits=calls.tolist())


def test_a_host_that_runs_ahead_makes_no_device_faster() -> None:
    """Each step is a kernel and a wait for it; without the wait the kernels still take as long."""
    work = launch("aten::mm", "gemm 900us")
    trace = parse_outline(on_gpu(steps(work, _ITEM, count=5, lasts_us=960)))
    _, high = _saved(trace, _waits(trace))
    assert sum(high) <= 5 * 70_000


def test_a_launch_that_waits_for_room_in_the_queue_is_the_devices_time() -> None:
    """Kernels of 1 ms, launched each 10 us until 1,024 are ahead; three steps of 500 launches."""
    raw, launched_ns, ended_ns = RawColumns(), 0, [0]
    names, tracks = raw.strings.names, raw.strings.tracks
    host, device = (tracks[Track(pid, 1)] for pid in (1, 0))
    edges = [0]
    for number in range(1500):
        waits_ns = max(ended_ns[number - 1024] - launched_ns, 0) if number >= 1024 else 0
        call_ns = waits_ns + 5_000
        _put(raw, names["cudaLaunchKernel"], EventKind.Runtime, number, launched_ns, call_ns, host)
        launched_ns += call_ns + 5_000
        start_ns = max(launched_ns, ended_ns[-1])
        ended_ns.append(start_ns + _MS)
        _put(raw, names["kernel"], EventKind.Kernel, number, start_ns, _MS, device)
        if number % 500 == 499:
            edges.append(launched_ns)
    for number, (start_ns, end_ns) in enumerate(pairwise(edges)):
        step = names[f"ProfilerStep#{number}"]
        _put(raw, step, EventKind.Annotation, -1, start_ns, end_ns - start_ns, host)
    trace = build_trace(raw, TraceInfo("made"))
    edit = Edit("half as long", work=trace.device_rows, left=(0.5, 0.5))
    savings = Savings(trace, trace.window.step_ranges, 0)
    assert savings.fidelity.p90_error < 0.001
    _, high = savings.saved([edit])
    assert high[-1] == pytest.approx(0.5 * (edges[-1] - edges[-2]), rel=0.03)


def test_a_launch_waits_for_no_work_that_is_launched_after_it() -> None:
    """Of 600 kernels ahead none ends as a slow launch returns, but work of the next one does."""
    raw = RawColumns()
    names, tracks = raw.strings.names, raw.strings.tracks
    host, one, other = (tracks[Track(*each)] for each in ((1, 1), (0, 1), (0, 2)))
    launch, kernel, at_ns = names["cudaLaunchKernel"], names["kernel"], 0
    for number in range(602):
        call_ns = _MS if number == 600 else 5_000
        _put(raw, launch, EventKind.Runtime, number, at_ns, call_ns, host)
        at_ns += call_ns
        if number == 601:
            _put(raw, kernel, EventKind.Kernel, number, at_ns, 10_000, other)
        else:
            start_ns = 10_000 + 20 * _MS * number
            _put(raw, kernel, EventKind.Kernel, number, start_ns, 20 * _MS, one)
    _put(raw, names["ProfilerStep#0"], EventKind.Annotation, -1, 0, at_ns, host)
    trace = build_trace(raw, TraceInfo("made"))
    waits_for = build_graph(trace, [0, at_ns], 0).waits_for
    assert waits_for.max() < 0
    assert Savings(trace, trace.window.step_ranges, 0).fidelity.median_error < 0.001


def _put(
    raw: RawColumns, name: int, kind: EventKind, number: int, start_ns: int, ns: int, track: int
) -> None:
    where = {"device": [0], "stream": [1]} if kind == EventKind.Kernel else {}
    times = {"start_ns": [start_ns], "duration_ns": [ns], "correlation": [number + 1]}
    raw.append(1, name_id=[name], kind=kind, track_id=[track], **times, **where)


def _finding(
    trace: Trace,
    edit: Edit | None,
    severity: Severity = Severity.WARNING,
    at_most: Severity | None = None,
) -> Finding:
    events = tuple(trace.named("aten::sort"))
    time = trace.time_of(event.row for event in events)
    cost = CostOfFinding(time.total_ns // len(trace.window.steps), trace.step_share(time))
    fix = Fix("", edit, at_most=at_most)
    return Finding("ABC001", "sorts", severity, "", None, events, cost, fix)


def _weighed(trace: Trace, edit: Edit, **options: float) -> Judged:
    (finding,) = weigh(trace, [_finding(trace, edit)], **options).findings  # type: ignore[arg-type]
    return finding


def _saving(finding: Judged) -> Saving:
    assert finding.saving is not None
    return finding.saving


def test_time_that_a_busy_device_hides_costs_nothing() -> None:
    trace = _busy_gpu(1000, count=60)
    finding = _weighed(trace, Edit("gone", host=_host(trace, "aten::sort")))
    saving = _saving(finding)
    assert (saving.hidden, finding.severity) == (True, Severity.INFO)
    assert saving.why == "hidden: the GPU is busy for 98% of it"
    assert saving.high_ns <= finding.cost_ns < 10_000
    (costs,) = weigh(trace, [_finding(trace, finding.edit)], savings="off").findings
    assert (costs.saving, costs.severity) == (None, Severity.WARNING)
    assert costs.cost_ns == 400_000


@pytest.mark.parametrize("severity", Severity)
def test_no_more_than_info_where_the_replay_is_too_far_off(severity: Severity) -> None:
    """The host runs ahead of steps that the device makes long."""
    work = launch("aten::mm", "gemm 900us"), "aten::sort 40us"
    trace = parse_outline(on_gpu(steps(*work, count=8, lasts_us=None)))
    for edit in (None, Edit("gone", host=_host(trace, "aten::sort"))):
        weighed = weigh(trace, [_finding(trace, edit, severity)])
        assert weighed.fidelity is not None
        assert weighed.fidelity.abstains
        is_kept = edit is None or severity == Severity.ERROR
        assert weighed.findings[0].severity == (severity if is_kept else Severity.INFO)


def test_time_before_a_wait_for_a_busy_device_is_hidden() -> None:
    """The host sorts while a kernel runs, and then waits for that: the wait gets longer."""
    waits = launch("aten::mm", "gemm 700us"), "aten::sort 400us", "cudaStreamSynchronize 305us"
    trace = parse_outline(on_gpu(steps(*waits, count=5, lasts_us=990)))
    finding = _weighed(trace, Edit("gone", host=_host(trace, "aten::sort")))
    assert (_saving(finding).high_ns, finding.cost_ns) == (0, 0)
    assert _saving(finding).why == "hidden: the GPU is busy for 100% of it"


def test_time_that_a_device_idles_in_is_not_hidden() -> None:
    """The host sorts after the kernel that it waited for: the step gets shorter by all of it."""
    waits = launch("aten::mm", "gemm 700us"), "cudaStreamSynchronize 705us", "aten::sort 100us"
    trace = parse_outline(on_gpu(steps(*waits, count=5, lasts_us=990)))
    saving = _saving(_weighed(trace, Edit("gone", host=_host(trace, "aten::sort"))))
    assert not saving.hidden
    assert saving.high_ns == 100_000


def test_kernels_that_nobody_waits_for_cost_nothing_and_the_reason_is_said() -> None:
    work = launch("aten::mm", "gemm 300us")
    trace = parse_outline(on_gpu(steps("aten::sort 400us", work, count=5, lasts_us=1000)))
    edit = Edit("half as long", work=trace.device_rows, left=(0.5, 0.5))
    finding = _weighed(trace, edit)
    assert (_saving(finding).high_ns, finding.cost_ns, finding.severity) == (0, 0, Severity.INFO)
    said = "the host sets the pace: the GPU would idle for 300 us more"
    assert (_saving(finding).hidden, _saving(finding).why) == (False, said)


@pytest.mark.parametrize(
    ("warn_from", "severity"), [(0.25, Severity.WARNING), (0.3, Severity.INFO)]
)
def test_a_warning_has_to_save_a_share_of_the_step(warn_from: float, severity: Severity) -> None:
    """It saves 276 to 300 of 1,000 us."""
    trace = _on_cpu()
    edit = Edit("gone", host=_host(trace, "aten::sort"))
    weighed = weigh(trace, [_finding(trace, edit)], warn_from=warn_from)
    assert [each.severity for each in weighed.findings] == [severity]
    saving = _saving(weighed.findings[0])
    assert (saving.low_ns, saving.high_ns, saving.step_ns) == (276_000, 300_000, 1_000_000)
    assert weighed.findings[0].cost_ns == 300_000
    assert weighed.step_ns_after == saving.step_ns_after == (700_000, 724_000)


def test_a_warning_saves_half_of_that_at_the_least() -> None:
    """Of 300 us, 0 to 90 % stay: the middle saves 16 % of the step, and the least 3 %."""
    edit = Edit("less", host=_host(_on_cpu(), "aten::sort"), left=(0.0, 0.9))
    assert _weighed(_on_cpu(), edit, warn_from=0.1).severity == Severity.INFO
    half = replace(edit, left=(0.0, 0.7))
    assert _weighed(_on_cpu(), half, warn_from=0.1).severity == Severity.WARNING


def test_work_that_moves_to_other_processes_makes_the_rest_slower_at_worst() -> None:
    """The other 700 us take up to 8 % more."""
    edit = Edit("gone", host=_host(_on_cpu(), "aten::sort"), moves=True)
    saving = _saving(_weighed(_on_cpu(), edit))
    assert saving.high_ns == 300_000
    assert saving.low_ns == pytest.approx(_SURELY * (300_000 - 0.08 * 700_000), rel=0.001)


def test_a_fix_by_one_of_two_ways_saves_what_either_does() -> None:
    both = _host(_on_cpu(), "aten::sort", "aten::cat")
    less = Edit("one", host=_host(_on_cpu(), "aten::sort"))
    saving = _saving(_weighed(_on_cpu(), Edit("both", host=both, at_worst=less, untold="two ways")))
    assert (saving.low_ns, saving.high_ns) == (int(_SURELY * 300_000), 500_000)
    assert saving.why == "two ways"


@pytest.mark.parametrize(
    ("lengths_us", "severity"),
    [
        ((1000, 1000, 1000, 1000, 1000, 1000, 1000, 6000, 7000), Severity.WARNING),
        ((1000, 6000, 7000, 8000, 9000, 9000, 9000, 9000, 9000), Severity.INFO),
    ],
)
def test_steps_that_were_disturbed_do_not_decide(
    lengths_us: tuple[int, ...], severity: Severity
) -> None:
    """It saves 300 us: much of a step alone, and a few percent of one that something disturbed."""
    parts = "aten::sort 300us", "aten::cat 200us"
    trace = parse_outline("".join(steps(*parts, count=1, lasts_us=each) for each in lengths_us))
    edit = Edit("gone", host=_host(trace, "aten::sort"))
    assert _weighed(trace, edit, warn_from=0.1).severity == severity


def test_what_one_step_alone_saves_is_not_promised() -> None:
    """A tenth of all time is in one step of nine: the next run may have no such step."""
    outlines = [steps("aten::cat 200us", count=1, lasts_us=1000)] * 8
    outlines.insert(3, steps("aten::sort 1000us", count=1, lasts_us=2000))
    trace = parse_outline("".join(outlines))
    finding = _weighed(trace, Edit("gone", host=_host(trace, "aten::sort")))
    saving = _saving(finding)
    assert (saving.low_ns, saving.high_ns) == (0, round(1_000_000 / 9))
    assert (finding.severity, saving.why) == (Severity.INFO, "so much in only 1 of 9 steps")


def test_a_wait_costs_no_more_than_the_device_idles_because_of_it() -> None:
    """The copy to the host takes 900 us of each step, and the device is busy with it."""
    read = copy("DtoH (Device -> Pageable) 900us 1048576B", op=_READ, call="cudaMemcpyAsync 910us")
    trace = parse_outline(on_gpu(steps(launch("aten::mm", "gemm 20us"), read, count=5)))
    found = replace(_finding(trace, _waits(trace)), cost=CostOfFinding(10_000, 0.01, True))
    (finding,) = weigh(trace, [found]).findings
    assert finding.cost_ns <= 10_000


def test_what_costs_too_little_is_no_warning_without_a_replay_either() -> None:
    trace = _on_cpu()
    cost = CostOfFinding(9_000, 0.003)
    found = Finding("ABC001", "sorts", Severity.WARNING, "", None, (), cost, Fix(""))
    assert [f.severity for f in weigh(trace, [found]).findings] == [Severity.INFO]
    assert [f.severity for f in weigh(trace, [found], warn_from=0.002).findings] == [
        Severity.WARNING
    ]


def test_what_saves_most_stands_first() -> None:
    """The loader takes 400 us of each step, the loop a few."""
    outline = steps(f"{_FETCH} 400us", "aten::select\naten::fill_\n" * 12, lasts_us=1000)
    report = tidy.check(parse_outline(outline), select=["TDY404", "TDY101"])
    assert [finding.code for finding in report.findings] == ["TDY101", "TDY404"]
    both = [finding.saving for finding in report.findings]
    assert all(saving is not None for saving in both)
    after = report.weighed.step_ns_after
    assert after is not None
    assert both[0] is not None
    assert after[0] < both[0].step_ns_after[0]


def test_a_run_ends_with_its_last_work() -> None:
    """Nothing waits for the last kernel, and still a shorter one makes the run shorter."""
    trace = parse_outline(on_gpu(launch("aten::mm", "gemm 100us")))
    assert trace.window.unit == "run"
    kernel = trace.device_rows.tolist()
    savings = Savings(trace, list(trace.window.time), 0, is_run=True)
    _, high = savings.saved([Edit("faster", work=kernel, left=(0.5, 0.5))])
    assert high.tolist() == [50_000]
    assert savings.fidelity.median_error == 0


def _recorded(lines: str, told: str) -> Savings:
    """Of a run of `tidy run`: what recording added was taken off its steps, or nothing told it."""
    trace = parse_outline(f'# tidy_times "light"\n# tidy_taken_off_ns {told}\n{lines}')
    return Savings(trace, trace.window.step_ranges, 0)


def test_what_recording_adds_may_go_where_a_device_hid_it() -> None:
    """The kernel gone, a step is what the host needs, with seven events recorded in it."""
    work = launch("aten::mm", "gemm 900us"), launch("aten::relu", "relu 1us")
    on_host = *work, "aten::sort 400us", "cudaStreamSynchronize 510us"
    lines = on_gpu(steps(*on_host, count=5, lasts_us=1000))
    known, unknown = _recorded(lines, "0"), _recorded(lines, "null")
    rows = parse_outline(lines).device_rows
    edit = Edit("short kernels", work=rows, left=(0.01, 0.01))
    more = unknown.unrecorded([edit])[1] - known.unrecorded([edit])[1]
    assert all(0.5 * 7 * 2_500 < each < 7 * 2_500 for each in more[1:].tolist())
    assert unknown.unrecorded([edit])[0].tolist() == known.unrecorded([edit])[0].tolist()


def test_a_host_that_waits_less_may_be_faster() -> None:
    """Shorter kernels ease it as a wait that is gone does, where it had to wait for them."""
    work = launch("aten::mm", "gemm 900us"), launch("aten::relu", "relu 1us")
    on_host = *work, "aten::sort 400us", "cudaStreamSynchronize 510us"
    lines = on_gpu(steps(*on_host, count=5, lasts_us=1000))
    trace = parse_outline(lines)
    replays = _recorded(lines, "0")
    shorter = Edit("short kernels", work=trace.device_rows, left=(0.01, 0.01))
    saved_ns, unrecorded_ns = (of([shorter])[1][1] for of in (replays.saved, replays.unrecorded))
    assert saved_ns + 0.1 * 400_000 < unrecorded_ns <= saved_ns + 0.2 * (1_000_000 - saved_ns)


def test_a_fix_does_not_save_what_recording_added() -> None:
    """Where the host sets the pace with the fix and without, both may be as much shorter."""
    lines = steps("aten::sort 300us", "aten::cat 200us")
    known, unknown = _recorded(lines, "0"), _recorded(lines, "null")
    edit = Edit("gone", host=_host(_on_cpu(), "aten::sort"))
    assert unknown.unrecorded([edit])[1].tolist() == known.unrecorded([edit])[1].tolist()
