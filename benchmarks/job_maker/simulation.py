"""When everything happens on every rank, in true time.

The host goes from point to point and waits only where it synchronizes. Work starts when it has been
launched, its stream is free and what it waits for is over. A collective is over on all its ranks
some µs apart: when the last one has arrived and the transfer has taken its time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .layout import Layout, Times
from .plants import Effects
from .step import COMPUTE, EVERY_STREAM, Step, Work

_LAUNCH_LATENCY_NS = 1_500
_SEEN_NS = 2_000  # from when a stream is done to when the host has seen it
_ENDS_APART_NS = 4_000
_EVENS_OUT_NS = 100_000
_DRAWS = {"host": 0, "kernels": 1, "spikes": 2, "transfer": 3, "ends": 4, "ranks": 5}


@dataclass(frozen=True)
class Jitter:
    """How much times differ for no reason: spreads of logarithms, and how often a host hiccups."""

    kernels: float = 0.015
    host: float = 0.07
    of_ranks: float = 0.003
    spikes_a_step: float = 0.05
    spike_ns: float = 120_000.0
    transfer: float = 0.02


@dataclass(frozen=True)
class Timeline:
    """Times in ns since the start of the job, of each step in a list.

    Attributes:
        host: of the points, in shape (ranks, points).
        starts: of the work, in shape (ranks, work); NaN where a rank does not do it.
        ends: the same of its ends.
    """

    host: list[Times]
    starts: list[Times]
    ends: list[Times]

    def job_ns(self, first: int) -> float:
        """From the start of step `first` to the last end."""
        return float(self.host[-1][:, -1].max() - self.host[first][:, 0].min())

    def step_ns(self, step: int) -> float:
        """The duration of a step in the median of the ranks."""
        return float(np.median(self.host[step][:, -1] - self.host[step][:, 0]))


@dataclass(frozen=True)
class _Program:
    """The step in columns, and what the host does that is more than going on."""

    gaps: Times
    is_loader: NDArray[np.bool_]
    is_extra: NDArray[np.bool_]
    stages: NDArray[np.int64]  # of each point the stage that does it, or -1
    work: list[Work]
    launches: dict[int, list[int]]  # at a point: the numbers of work
    waits: dict[int, int]  # at a point: the stream
    numbers: dict[int, int]  # of work, by its id


def _program(step: Step) -> _Program:
    numbers = {id(work): n for n, work in enumerate(step.work())}
    launches, waits = dict[int, list[int]](), dict[int, int]()
    for at, point in enumerate(step.points):
        if not point.is_end:
            continue
        event = point.event
        if event.work:
            launches[at] = [numbers[id(work)] for work in event.work]
        if event.waits is not None:
            waits[at] = event.waits
    return _Program(
        np.array([point.gap_ns for point in step.points], np.float64),
        np.array(list(step.in_loader())),
        np.array([point.event.is_extra for point in step.points]),
        np.array([-1 if (s := p.event.stage) is None else s for p in step.points], np.int64),
        step.work(),
        launches,
        waits,
        numbers,
    )


class Simulation:
    """The job; two with the same seed differ by their effects alone."""

    def __init__(self, step: Step, layout: Layout, jitter: Jitter, seed: int) -> None:
        self.layout, self.jitter, self.seed = layout, jitter, seed
        self.program = _program(step)
        self.world = layout.world
        speeds = self._rng("ranks", 0).normal(0, 1, self.world)
        self.speed = np.exp(jitter.of_ranks * speeds)
        stage = np.arange(self.world) // layout.stage_size
        of_all = self.program.stages < 0
        self.in_stage = of_all | (self.program.stages == stage[:, None])

    def run(self, effects: Effects, steps: int, step_ns: float) -> Timeline:
        """Simulate `steps` steps; effects that are parts of a step are parts of `step_ns`."""
        now = np.abs(self._rng("ranks", 1).normal(0, 50_000, self.world))
        never = np.full((self.world, len(self.program.work)), -np.inf)
        state = _State(now, {}, never, never, never[:, 0])
        result = Timeline([], [], [])
        for step in range(steps):
            host, starts, ends = self._step(step, effects, step_ns, state)
            result.host.append(host)
            result.starts.append(starts)
            result.ends.append(ends)
        return result

    def _rng(self, what: str, step: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, _DRAWS[what], step])

    def _gaps(self, step: int, effects: Effects, step_ns: float) -> Times:
        """The time before each point, in shape (ranks, points)."""
        program, jitter = self.program, self.jitter
        count = len(program.gaps)
        noise = self._rng("host", step).normal(0, 1, (self.world, count))
        # What takes long is made of many things, whose jitter evens out.
        spread = jitter.host * np.minimum(1, np.sqrt(_EVENS_OUT_NS / np.maximum(program.gaps, 1)))
        gaps = program.gaps * np.exp(spread * noise) * effects.host[:, step, None]
        loader_ns = program.gaps[program.is_loader].sum()
        slower = 1 + effects.loader[:, step] * step_ns / max(loader_ns, 1.0)
        gaps = np.where(program.is_loader, gaps * slower[:, None], gaps)
        rng = self._rng("spikes", step)
        own = self._does(effects, step)
        at = _part_of(own, rng.random(self.world))
        happens = rng.random(self.world) < jitter.spikes_a_step
        spikes = np.where(happens, rng.exponential(jitter.spike_ns, self.world), 0.0)
        gaps[np.arange(self.world), at] += spikes
        # A stall is somewhere in the first half of what follows the loader.
        after = own & (np.arange(count) > np.flatnonzero(program.is_loader)[-1])
        stalls_at = _part_of(after, np.full(self.world, 0.5 * rng.random()))
        gaps[np.arange(self.world), stalls_at] += effects.stall[:, step] * step_ns
        return np.where(own, gaps, 0.0)

    def _does(self, effects: Effects, step: int) -> NDArray[np.bool_]:
        """Which points each rank passes, in shape (ranks, points)."""
        return self.in_stage & (effects.extra[:, step, None] | ~self.program.is_extra)

    def _step(
        self, step: int, effects: Effects, step_ns: float, state: _State
    ) -> tuple[Times, Times, Times]:
        program = self.program
        gaps = self._gaps(step, effects, step_ns)
        does = self._does(effects, step)
        took = self._took(step, effects)
        host = np.empty_like(gaps)
        state.starts = np.full((self.world, len(program.work)), np.nan)
        state.ends = np.full_like(state.starts, -np.inf)
        done, first_launch = 0, min(program.launches)
        # A queue holds so many launches: a host is at most about a step ahead of its device.
        full_until, state.done = state.done, state.free_at(EVERY_STREAM, self.world)
        for at in sorted({*program.launches, *program.waits}):
            host[:, done : at + 1] = state.now[:, None] + gaps[:, done : at + 1].cumsum(axis=1)
            state.now = host[:, at].copy()
            done = at + 1
            if at == first_launch:
                state.now = np.maximum(state.now, full_until)
                host[:, at] = state.now
            mask = does[:, at]
            for number in program.launches.get(at, ()):
                if mask.any():
                    self._work(step, number, took[:, number], mask, state, effects)
            if at in program.waits:
                free = state.free_at(program.waits[at], self.world) + _SEEN_NS
                state.now = np.where(mask, np.maximum(state.now, free), state.now)
                host[:, at] = state.now
        host[:, done:] = state.now[:, None] + gaps[:, done:].cumsum(axis=1)
        state.now = host[:, -1].copy()
        return host, state.starts, np.where(np.isnan(state.starts), np.nan, state.ends)

    def _took(self, step: int, effects: Effects) -> Times:
        """How long each kernel takes, in shape (ranks, work)."""
        work = self.program.work
        noise = self._rng("kernels", step).normal(0, 1, (self.world, len(work)))
        took = np.array([each.duration_ns for each in work], np.float64)
        took = took * np.exp(self.jitter.kernels * noise) * self.speed[:, None]
        grows = np.array([each.grows for each in work], np.bool_)
        is_kernel = np.array([each.kind == "kernel" for each in work], np.bool_)
        took = np.where(grows, took * effects.length[:, None], took)
        return np.where(is_kernel, took * effects.kernels[:, step, None], took)

    def _work(
        self,
        step: int,
        number: int,
        took: Times,
        mask: NDArray[np.bool_],
        state: _State,
        effects: Effects,
    ) -> None:
        """Let the ranks of the mask do what they have just launched."""
        work = self.program.work[number]
        ready = state.now + _LAUNCH_LATENCY_NS
        ready = np.maximum(ready, state.free_at(work.stream, self.world))
        if work.collective is not None:
            ready = np.maximum(ready, state.free_at(COMPUTE, self.world))
        for other in work.after:
            ready = np.maximum(ready, state.ends[:, self.program.numbers[id(other)]])
        if work.collective is None:
            end = ready + took
        elif work.collective.group == "pipeline":
            end = self._exchange(work, ready, mask, state)
        else:
            end = self._collective(step, number, work, ready, effects)
        state.starts[:, number] = np.where(mask, ready, np.nan)
        state.ends[:, number] = np.where(mask, end, -np.inf)
        before = state.free_at(work.stream, self.world)
        state.streams[work.stream] = np.where(mask, end, before)

    def _exchange(
        self, work: Work, arrivals: Times, mask: NDArray[np.bool_], state: _State
    ) -> Times:
        """When a transfer is over where it is received; what sends is told, and until then open."""
        what = work.collective
        assert what is not None
        if work.partner is None:
            return np.full(self.world, np.inf)
        receivers = np.flatnonzero(mask)
        senders = receivers - what.hop * self.layout.stage_size
        number = self.program.numbers[id(work.partner)]
        transfer = self.layout.hop_ns(receivers, senders, what.nbytes)
        over = np.maximum(arrivals[receivers], state.starts[senders, number]) + transfer
        state.ends[senders, number] = over
        state.streams[work.partner.stream][senders] = over
        end = np.full(self.world, np.nan)
        end[receivers] = over
        return end

    def _collective(
        self, step: int, number: int, work: Work, arrivals: Times, effects: Effects
    ) -> Times:
        """When it is over on each rank."""
        what = work.collective
        assert what is not None
        members = self.layout.members(what.group)
        noise = self._rng("transfer", 10_000 * step + number).normal(0, 1, len(members))
        transfer = self.layout.transfer_ns(what.group, what.nbytes, what.operation)
        transfer = transfer * np.exp(self.jitter.transfer * noise)
        # The longest samples of a group decide how much it exchanges.
        if what.group == "tensor":
            transfer = transfer * effects.length[members].max(axis=1)
        transfer /= effects.bandwidth[what.group]
        over = arrivals[members].max(axis=1) + transfer
        apart = self._rng("ends", 10_000 * step + number).uniform(0, _ENDS_APART_NS, self.world)
        end = np.empty(self.world)
        end[members] = over[:, None]
        return end + apart


def _part_of(own: NDArray[np.bool_], share: Times) -> NDArray[np.int64]:
    """The point at which a rank has passed this share of its own, for each rank."""
    passed = own.cumsum(axis=1)
    wanted = np.maximum(np.ceil(share * passed[:, -1]), 1)
    return (passed >= wanted[:, None]).argmax(axis=1)


@dataclass
class _State:
    """Where the ranks stand."""

    now: Times
    streams: dict[int, Times]
    starts: Times
    ends: Times
    done: Times  # when the work of the steps before the last one was over

    def free_at(self, stream: int, world: int) -> Times:
        """When all that was launched into a stream is over."""
        if stream == EVERY_STREAM:
            return np.max([*self.streams.values(), np.full(world, -np.inf)], axis=0)
        return self.streams.get(stream, np.full(world, -np.inf))
