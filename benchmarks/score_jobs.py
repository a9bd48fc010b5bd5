"""Say how often a report names the right rank and cause in jobs made by `make_job.py`.

    python benchmarks/score_jobs.py build/jobs --make 22 --ranks 8
    python benchmarks/score_jobs.py build/jobs --rule

It asks for what a report says of the job; with `--rule` it reads TDY902 in what
`tidy report --format json` says of each job. Another analysis is asked by `--command`, which is
given the folder of a job and prints `{"ranks": [1], "cause": "slow-gpu"}`, or from Python by
`score(jobs, judge)`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from job_maker import PLANTS, JobOptions, make_job

import tidy
from tidy.errors import TidyError
from tidy.summary import Summary, job_of, summarise

LEAST_COST = 0.01  # of the job: what costs less nobody needs to be told of
_NAMED = re.compile(r"waits for \w+ (\d+),")
_SETTLED = 0.5  # of the ranks' traces


@dataclass(frozen=True)
class Verdict:
    """What was said of a job.

    Attributes:
        ranks: those at fault, if any.
        cause: the name of the plant, if known.
        saving_ns: by how much the recording would be shorter without it, if known.
    """

    ranks: frozenset[int]
    cause: str | None = None
    saving_ns: float | None = None


@dataclass
class Score:
    """Counts by plant.

    Attributes:
        jobs: how many were judged.
        rank_right: of these the ones whose ranks were named, all and no others.
        cause_right: of these the ones whose cause was named too.
        slight: jobs left out, since the plant costs next to nothing in them.
        savings: of those with the right ranks what was said to be saved, as a share of the truth.
        wrong: the folders where ranks were named wrongly, with what was named.
    """

    jobs: Counter[str] = field(default_factory=Counter)
    rank_right: Counter[str] = field(default_factory=Counter)
    cause_right: Counter[str] = field(default_factory=Counter)
    slight: Counter[str] = field(default_factory=Counter)
    savings: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    wrong: list[tuple[str, list[int]]] = field(default_factory=list)

    def lines(self) -> list[str]:
        """A table by plant, and below it what was wrong."""
        result = [f"{'plant':18} {'jobs':>5} {'rank':>5} {'cause':>5} {'slight':>6}  saving"]
        for name in PLANTS:
            if self.jobs[name] or self.slight[name]:
                counts = self.jobs[name], self.rank_right[name], self.cause_right[name]
                text = " ".join(f"{count:5}" for count in counts)
                shares = sorted(self.savings[name])
                saving = f"  {shares[0]:.2f} to {shares[-1]:.2f}" if shares else ""
                result.append(f"{name:18} {text} {self.slight[name]:6}{saving}")
        return result + [f"{folder}: named {ranks or 'nobody'}" for folder, ranks in self.wrong]


def at_fault(truth: dict[str, Any]) -> frozenset[int]:
    """The ranks that a report should name: none in a clean job, nor where all do the same."""
    plant = truth["plant"]
    all_alike = len(plant["ranks"]) == len(truth["ranks"])
    return frozenset() if not plant["is_cause"] or all_alike else frozenset(plant["ranks"])


def score(jobs: Iterable[Path], judge: Callable[[Path], Verdict]) -> Score:
    """Compare what is said of each job with its truth; without a cause nobody is at fault."""
    result = Score()
    for folder in jobs:
        truth = json.loads((folder / "truth.json").read_text("utf-8"))
        plant = truth["plant"]
        name, cost = plant["name"], truth["job_ns"] - truth["without_ns"]
        if plant["is_cause"] and cost < LEAST_COST * truth["without_ns"]:
            result.slight[name] += 1
            continue
        verdict = judge(folder)
        result.jobs[name] += 1
        if verdict.ranks != at_fault(truth):
            result.wrong.append((folder.name, sorted(verdict.ranks)))
            continue
        result.rank_right[name] += 1
        if verdict.saving_ns is not None and verdict.ranks:
            result.savings[name].append(verdict.saving_ns / cost)
        cause = name if plant["is_cause"] else None
        result.cause_right[name] += verdict.cause in (cause, _ALSO.get(name, cause))
    return result


def late_rank_verdict(report: dict[str, Any]) -> Verdict:
    """Read TDY902 in a report in JSON: whom most ranks wait for, where that is a warning."""
    named = Counter[int]()
    for trace in report["traces"]:
        for finding in trace["findings"]:
            match = _NAMED.search(finding["message"])
            if finding["code"] == "TDY902" and finding["severity"] != "info" and match:
                named[int(match[1])] += 1
    enough = _SETTLED * (len(report["traces"]) - 1)
    return Verdict(frozenset(rank for rank, count in named.items() if count >= max(enough, 1)))


def ask_report(folder: Path) -> Verdict:
    """Ask `tidy report` about a job."""
    traces = sorted(map(str, folder.glob("rank-*.json.gz")))
    command = [sys.executable, "-m", "tidy", "report", "--format", "json", *traces]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return late_rank_verdict(json.loads(done.stdout))


# What a reason says first tells the plant.
_PLANT_OF = {
    "with work that others do not do": "other-path",
    "loading data": "slow-loader",
    "more operations in products": "more-work",
    "the same products take": "slow-gpu",
    "its host": "slow-host",
    "idles for": "slow-host",
}
# What stays and what passes have different names among the plants, and the same cause.
_ALSO = {"gpu-throttle": "slow-gpu", "stall": "slow-host", "passing": "slow-host"}


def ask_jobs(folder: Path) -> Verdict:
    """Ask for what a report says of a job, from the summaries of its ranks."""
    summaries = list[Summary]()
    for path in sorted(folder.glob("rank-*.json.gz")):
        try:
            report = tidy.check(tidy.load(path), select="TDY901", savings="off")
        except TidyError:
            continue
        summaries.append(summarise(report))
    job = job_of(summaries)
    if job is None or job.replay is None:
        return Verdict(frozenset())
    if not job.late:
        slow = [frozenset(each.ranks) for each in job.slow_links]
        return Verdict(slow[0], "slow-link") if slow else Verdict(frozenset())
    ranks = frozenset(rank for each in job.late for rank in each.ranks)
    reason = job.late[0].reason
    cause = next((plant for said, plant in _PLANT_OF.items() if said in reason), None)
    saving_ns = job.replay.cost_ns(np.isin(job.matched.ranks, list(ranks)))
    return Verdict(ranks, cause, saving_ns)


def ask(command: str) -> Callable[[Path], Verdict]:
    """Return what asks a command about a job."""

    def judge(folder: Path) -> Verdict:
        words = [*command.split(), str(folder)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        said = json.loads(done.stdout)
        return Verdict(frozenset(said["ranks"]), said.get("cause"))

    return judge


def make_jobs(folder: Path, count: int, seed: int, **options: Any) -> None:
    """Make as many jobs with a cause, in turns, and two clean ones to every five of these."""
    causes = [plant.name for plant in PLANTS.values() if plant.is_cause]
    if options["ranks"] % 4:
        causes.remove("slow-link")  # one pair's link is slow beside another's
    numbers = defaultdict[str, int](int)
    clean = ["none"] * round(0.4 * count)
    for number, plant in enumerate([causes[n % len(causes)] for n in range(count)] + clean):
        made = JobOptions(plant=plant, seed=seed + number, **options)
        make_job(folder / f"{plant}-{numbers[plant]:02d}", made)
        numbers[plant] += 1


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="has the folders of the jobs")
    parser.add_argument("--make", type=int, metavar="N", help="first make N jobs and clean ones")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tensor-parallel", type=int, default=1, metavar="K")
    parser.add_argument("--pipeline", type=int, default=1, metavar="K")
    parser.add_argument("--rule", action="store_true", help="read TDY902 in reports")
    parser.add_argument("--command", help="asked instead of tidy")
    options = parser.parse_args()
    if options.make:
        names = "ranks", "steps", "tensor_parallel", "pipeline"
        sizes = {name: getattr(options, name) for name in names}
        make_jobs(options.folder, options.make, options.seed, **sizes)
    jobs = sorted(path.parent for path in options.folder.glob("*/truth.json"))
    judge = ask_report if options.rule else ask_jobs
    judge = ask(options.command) if options.command else judge
    print("\n".join(score(jobs, judge).lines()))


if __name__ == "__main__":
    main()
