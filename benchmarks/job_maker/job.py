"""From options to the files of a job."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .edits import (
    add_buckets,
    add_other_path,
    add_small_collectives,
    add_tensor_parallel,
    has_collectives,
)
from .kineto import BASE_NS, EPOCH_NS, FIRST_STEP, RankTimes, StepText, header, names
from .layout import Clock, Layout, Times, clocks
from .pipeline import pipelined
from .plants import PLANTS, effects_of, effects_without
from .read_step import read_step
from .simulation import Jitter, Simulation, Timeline
from .step import Step
from .truth import collectives, costs, transfers

_WARM_UP = 1  # steps that are simulated and not recorded: after them ranks are as in a long run
_HOUR_NS = 3_600_000_000_000
_PRNG = 7_001
_MOST_STRENGTH = 10_000


@dataclass(frozen=True)
class JobOptions:
    """What job to make.

    Attributes:
        ranks: how many there are.
        plant: one of `PLANTS`.
        strength: how strong it is; None for the default of the plant.
        rank: the one that is hit; None for one that the seed decides.
        steps: how many are recorded.
        source: a Kineto trace to take the step from; None for that of the modelled A100.
        tensor_parallel: ranks that share a layer.
        pipeline: stages of the model, one rank each.
        microbatches: of a step of a pipeline; 0 for two a stage.
        node_size: ranks on a node.
        quiet: without jitter.
    """

    ranks: int = 8
    plant: str = "none"
    strength: float | None = None
    rank: int | None = None
    steps: int = 5
    seed: int = 0
    source: Path | None = None
    tensor_parallel: int = 1
    pipeline: int = 1
    microbatches: int = 0
    node_size: int = 8
    quiet: bool = False


def make_job(folder: Path, options: JobOptions) -> dict[str, Any]:
    """Write one trace a rank and `truth.json` into a folder, instead of a job made there before.

    Returns:
        The truth.

    Raises:
        ValueError: if the options do not go together, the step lacks what they need, or the folder
            has traces of others.
    """
    job = _Job(options)
    folder.mkdir(parents=True, exist_ok=True)
    before = list(folder.glob("rank-*.json.gz"))
    if before and not (folder / "truth.json").exists():
        raise ValueError(f"{folder} has traces that were not made here")
    for path in before:
        path.unlink()
    files = job.write(folder)
    truth = job.truth(files)
    (folder / "truth.json").write_text(json.dumps(truth) + "\n", "utf-8")
    return truth


class _Job:
    """A job as it is simulated."""

    def __init__(self, options: JobOptions) -> None:
        if options.plant not in PLANTS:
            raise ValueError(f"no plant {options.plant!r}; there are {', '.join(PLANTS)}")
        if options.ranks < 2 or options.steps < 1:
            raise ValueError("a job has at least two ranks and one step")
        if options.rank is not None and not 0 <= options.rank < options.ranks:
            raise ValueError(f"no rank {options.rank} among {options.ranks}")
        if options.strength is not None and not 0 < options.strength <= _MOST_STRENGTH:
            raise ValueError(f"a strength is above 0 and at most {_MOST_STRENGTH}")
        if options.node_size < 1 or options.microbatches < 0 or options.seed < 0:
            raise ValueError("nodes, microbatches and seeds are no negative numbers")
        self.options, self.plant = options, PLANTS[options.plant]
        tensor = options.tensor_parallel
        if self.plant.name == "slow-link" and tensor == 1:
            # A link that all use alike is no slower than any other.
            tensor = 2 if options.ranks % 4 == 0 else 1
        if self.plant.name == "slow-link" and not 1 < tensor < options.ranks:
            raise ValueError("a slow link shows beside others: it needs several tensor groups")
        self.layout = Layout(options.ranks, options.node_size, tensor, options.pipeline)
        rng = np.random.default_rng([options.seed, _PRNG])
        hit = int(rng.integers(options.ranks)) if options.rank is None else options.rank
        if self.plant.name == "other-path" and options.rank is None:
            hit = 0  # as most do what one rank does alone
        self.strength = self.plant.strength if options.strength is None else options.strength
        self.clocks = clocks(options.ranks, rng)
        later = int(self.strength) if self.plant.name == "other-steps" else 0
        self.late_start = {hit: later} if later else {}
        count = _WARM_UP + options.steps + later
        self.effects = effects_of(
            self.plant, self.layout, count, strength=self.strength, rank=hit, rng=rng
        )
        if self.plant.name in ("cut-file", "clock-off", "drift", "other-steps"):
            self.effects.steps = list(range(options.steps))
        self._set_clock(hit)
        self.step = _step(options, self.layout)
        self.without, self.timeline = self._simulate(count)
        _check_times(self.step, self.timeline)

    def _set_clock(self, hit: int) -> None:
        clock = self.clocks[hit]
        if self.plant.name == "clock-off":
            away = round(self.strength * _HOUR_NS)
            self.clocks[hit] = Clock(clock.offset_ns + away, clock.drift_ppm)
        elif self.plant.name == "drift":
            self.clocks[hit] = Clock(clock.offset_ns, self.strength)

    def _simulate(self, count: int) -> tuple[Timeline, Timeline]:
        """Return the job as it would be without the plant, and as it is."""
        options, seed = self.options, self.options.seed
        jitter = Jitter(0, 0, 0, 0, 0, 0) if options.quiet else Jitter()
        base = effects_without(self.plant, self.layout, count)
        first = Simulation(self.step, self.layout, jitter, seed).run(base, _WARM_UP + 1, 0.0)
        step_ns = first.step_ns(_WARM_UP)
        if self.plant.name == "other-path":
            add_other_path(self.step, round(self.strength * step_ns))
        elif self.plant.name == "small-collectives":
            add_small_collectives(self.step, max(1, int(self.strength)))
        simulation = Simulation(self.step, self.layout, jitter, seed)
        return simulation.run(base, count, step_ns), simulation.run(self.effects, count, step_ns)

    def write(self, folder: Path) -> list[str | None]:
        """Write the traces; returns the name of each rank's file, or None."""
        texts = dict[tuple[int, bool, float], StepText]()
        result = list[str | None]()
        lost = self.effects.ranks if self.plant.name == "lost-ranks" else []
        for rank in range(self.layout.world):
            if rank in lost:
                result.append(None)
                continue
            stage = rank // self.layout.stage_size
            kind = stage, bool(self.effects.extra[rank].any()), float(self.effects.length[rank])
            if kind not in texts:
                texts[kind] = StepText(
                    self.step, self.layout, stage=stage, extra=kind[1], longer=kind[2]
                )
            data = self._trace(rank, texts[kind])
            if self.plant.name == "cut-file" and rank in self.effects.ranks:
                data = data[: round(len(data) * self.strength)]
            name = f"rank-{rank:04d}.json.gz"
            (folder / name).write_bytes(data)
            result.append(name)
        return result

    def _trace(self, rank: int, step_text: StepText) -> bytes:
        """Return the packed trace of a rank."""
        first = _WARM_UP + self.late_start.get(rank, 0)
        steps = range(first, first + self.options.steps)

        def shown(times: list[Times]) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
            mine = (np.nan_to_num(times[step][rank]) for step in steps)
            return [EPOCH_NS + self.clocks[rank].shows(each) for each in mine]

        timeline = self.timeline
        times = RankTimes(*map(shown, (timeline.host, timeline.starts, timeline.ends)))
        text = step_text.of_rank(rank)
        streams = sorted({work.stream for work in self.step.work()})
        first_ns, last_ns = times.host[0][0] - 50_000, times.host[-1][-1] + 50_000
        parts = names(rank, self.layout, first_ns, last_ns, streams)
        late = first - _WARM_UP
        parts += [text % step_text.values(times, number, late) for number in range(len(times.host))]
        head = json.dumps(header(rank, self.layout, self.step.devices))[:-1]
        whole = f'{head}, "traceEvents": [\n' + ",\n".join(parts) + "\n]}\n"
        return gzip.compress(whole.encode(), 4, mtime=0)

    def truth(self, files: list[str | None]) -> dict[str, Any]:
        """Return what is known of the job."""
        effects, options = self.effects, self.options
        settings = asdict(options) | {"source": options.source and options.source.name}
        return {
            "options": settings,
            "plant": {
                "name": self.plant.name,
                "is_cause": self.plant.is_cause,
                "says": self.plant.says,
                "strength": self.strength,
                "ranks": effects.ranks,
                "steps": [FIRST_STEP + step for step in effects.steps],
                "group": effects.group,
            },
            **costs(self.timeline, self.without, _WARM_UP, effects.steps),
            "zero_ns": BASE_NS + EPOCH_NS,
            "ranks": [
                {
                    "rank": rank,
                    "host": self.layout.host(rank),
                    "file": name,
                    "offset_ns": clock.offset_ns,
                    "drift_ppm": clock.drift_ppm,
                    "first_step": FIRST_STEP + self.late_start.get(rank, 0),
                }
                for rank, (name, clock) in enumerate(zip(files, self.clocks, strict=True))
            ],
            "groups": [
                {"name": g.name, "description": g.description, "ranks": list(g.ranks)}
                for g in self.layout.groups
            ],
            "collectives": collectives(self.step, self.layout, self.timeline, _WARM_UP),
            "transfers": transfers(self.step, self.layout, self.timeline, _WARM_UP),
        }


def _step(options: JobOptions, layout: Layout) -> Step:
    """Return the step with its collectives in it."""
    if options.source is not None and layout.tensor * layout.stages > 1:
        raise ValueError("tensor groups and pipelines are put into the modelled step alone")
    if layout.stages == 1:
        return _reduced(options, layout)
    plain = read_step()
    if layout.tensor > 1:
        add_tensor_parallel(plain)
    batches = options.microbatches or 2 * layout.stages
    return pipelined(plain, _reduced(options, layout), layout.stages, batches)


def _reduced(options: JobOptions, layout: Layout) -> Step:
    """Return the recorded step with the reduction of gradients, and of activations."""
    try:
        step = read_step(options.source)
    except (AttributeError, EOFError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"{options.source} is no trace of Kineto: {error!r}") from None
    if not has_collectives(step):
        try:
            add_buckets(step, layout.tensor)
        except (KeyError, IndexError):
            raise ValueError(
                "the trace has neither collectives nor the shapes of gradients"
            ) from None
    if layout.tensor > 1:
        add_tensor_parallel(step)
    return step


def _check_times(step: Step, timeline: Timeline) -> None:
    """Raise an error if time goes backwards on a rank's host."""
    for host in timeline.host:
        if (np.diff(host, axis=1) < 0).any():
            raise ValueError(f"time goes backwards among {len(step.points)} points")
