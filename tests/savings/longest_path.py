"""When each call and each piece of work begins and ends, as longest paths in a graph of points.

Every start and every end is a point; a point's time is the latest of its sources, each plus a
delay. Points are settled when all their sources are, in whatever order that happens.
"""

from __future__ import annotations

from collections import defaultdict

from tidy.savings import Graph

Point = tuple[str, int]
Source = tuple[Point | None, int]  # None is time 0


def sources_of(graph: Graph) -> dict[Point, list[Source]]:
    """What each point waits for, and how long after that it comes."""
    sources: dict[Point, list[Source]] = {}
    for node in range(len(graph.row)):
        before, gap = int(graph.before[node]), int(graph.gap_ns[node])
        if before >= 0:
            sources["call starts", node] = [(("call ends", before), gap)]
        else:
            sources["call starts", node] = [(None, int(graph.start_ns[node]))]
        ends: list[Source] = [(("call starts", node), int(graph.length_ns[node]))]
        if graph.waits_for[node] >= 0:
            awaited = ("work ends", int(graph.waits_for[node]))
            ends.append((awaited, int(graph.return_ns[node])))
        sources["call ends", node] = ends
    last_on: dict[int, int] = {}
    for work in range(len(graph.work_row)):
        launch = ("call starts", int(graph.launcher[work]))
        starts: list[Source] = [
            (launch, int(graph.delay_ns[work])),
            (None, int(graph.not_before_ns[work])),
        ]
        turn = int(graph.turn_ns[work])
        stream = int(graph.stream[work])
        if stream in last_on:
            starts.append((("work ends", last_on[stream]), turn))
        if graph.follows[work] >= 0:
            starts.append((("work ends", int(graph.follows[work])), turn))
        last_on[stream] = work
        sources["work starts", work] = starts
        sources["work ends", work] = [(("work starts", work), int(graph.work_length_ns[work]))]
    return sources


def longest_paths(graph: Graph) -> dict[Point, int]:
    """The time of each point."""
    sources = sources_of(graph)
    followers: dict[Point, list[Point]] = defaultdict(list)
    open_sources = {}
    for point, before in sources.items():
        named = [source for source, _ in before if source is not None]
        open_sources[point] = len(named)
        for source in named:
            followers[source].append(point)
    ready = [point for point, count in open_sources.items() if not count]
    times: dict[Point, int] = {}
    while ready:
        point = ready.pop()
        times[point] = max(
            (times[source] if source is not None else 0) + delay for source, delay in sources[point]
        )
        for follower in followers[point]:
            open_sources[follower] -= 1
            if not open_sources[follower]:
                ready.append(follower)
    assert len(times) == len(sources), "the graph has a circle"
    return times
