"""The simulator gives the times of the longest paths, on random graphs and recorded traces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given

from tidy.account import HostTime
from tidy.savings import Graph, Simulator, build_graph

from ..account.test_against_naive import each_trace
from ..oracle.shared import load
from .longest_path import longest_paths
from .random_graphs import graphs


def _compare(graph: Graph) -> None:
    times, expected = Simulator(graph).run(), longest_paths(graph)
    for what, column in (
        ("call starts", times.start_ns),
        ("call ends", times.end_ns),
        ("work starts", times.work_start_ns),
        ("work ends", times.work_end_ns),
    ):
        assert column.tolist() == [expected[what, i] for i in range(len(column))], what


@given(graphs())
def test_random_graphs(graph: Graph) -> None:
    _compare(graph)


@each_trace
def test_recorded_runs(path: Path) -> None:
    trace = load(path)
    marks = sorted({time for step in trace.window.step_ranges for time in step})
    _compare(build_graph(trace, marks, HostTime(trace).main))


@given(graphs())
def test_less_work_takes_no_longer(graph: Graph) -> None:
    """Nothing ends later when calls, gaps and work get shorter."""
    shorter = replace(
        graph,
        gap_ns=graph.gap_ns // 2,
        length_ns=graph.length_ns // 3,
        work_length_ns=graph.work_length_ns // 2,
    )
    simulator = Simulator(graph)
    before, after = simulator.run(), simulator.run(shorter)
    assert (after.end_ns <= before.end_ns).all()
    assert (after.work_end_ns <= before.work_end_ns).all()
