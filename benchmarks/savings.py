"""How near the predicted step after a fix comes to the measured one, over pairs of scripts.

    PYTHONPATH=. python benchmarks/savings.py [PAIR]... [--rounds 5] [--gpu]

Each pair is a script in benchmarks/savings/, wrong as it stands and corrected with `--fixed`, run
with PyTorch on the CPU, with tidy.runtime on the CPU, or with it on a modelled device; or, with
`--gpu`, with PyTorch on the GPU of this machine. The wrong one is recorded, in full, lightly and
not at all, and what its rule found is replayed corrected. Both are timed with nothing recorded. A
round does all three, one after another, and the figures are medians over rounds: a machine with
other work runs the same script now faster and now slower. The last pair are two published
recordings of ResNet-50 on a V100.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tidy
from tidy.check.weigh import weigh
from tidy.finding import Finding
from tidy.run import RunOptions, record_once, time_once
from tidy.savings import Fidelity
from tidy.trace import Trace
from tidy.verify.verification import predict

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "benchmarks" / "savings"
V100 = "loader-v100"
_TRACES = ROOT.parent / "shared" / "traces" / "real"
# Script, framework, device: the rule that is to find the mistake.
PAIRS = {
    ("loader", "torch", ""): "TDY101",
    ("indexing", "torch", ""): "TDY404",
    ("optimizer", "torch", ""): "TDY601",
    ("loader", "runtime", ""): "TDY101",
    ("indexing", "runtime", ""): "TDY404",
    ("workers", "runtime", ""): "TDY102",
    ("fp32_products", "runtime", "a100"): "TDY501",
    ("fp32_products", "runtime", "l4"): "TDY501",
    ("host_sync", "runtime", "t4"): "TDY301",
    ("synchronize", "runtime", "t4"): "TDY302",
    ("unpinned", "runtime", "t4"): "TDY103",
    ("blocking", "runtime", "t4"): "TDY104",
}
_GPU = "gpu"
PAIRS_ON_GPU = {(script, "torch", _GPU): code for (script, _, _), code in PAIRS.items()}
_WARMUP, _STEPS = 3, 15
_STEPS_ON_DEVICE = 45  # in the first ones the host runs ahead
_WHOLE = 1_000_000_000  # a step of this length is predicted, which gives the part of it that stays
_HEAD = "recorded before low high after error".split()


@dataclass
class Pair:
    """Median steps of one pair, in nanoseconds; `predicted` is None where nothing was."""

    name: str
    recorded: int
    before: int
    after: int
    predicted: tuple[int, int] | None
    fidelity: Fidelity | None

    @property
    def error(self) -> float:
        """How far the middle of the predicted range is from the measured step."""
        low, high = self.predicted or (0, 0)
        return (low + high) / 2 / self.after - 1

    @property
    def is_inside(self) -> bool:
        """Whether the measured step lies in the predicted range."""
        return self.predicted is not None and self.predicted[0] <= self.after <= self.predicted[1]

    def line(self) -> str:
        low, high = self.predicted or (0, 0)
        times = "".join(
            f"{each / 1e6:10.2f}" for each in (self.recorded, self.before, low, high, self.after)
        )
        replayed = f"{self.fidelity.median_error:.2%}" if self.fidelity else "-"
        where = "inside" if self.is_inside else "-"
        return f"{self.name:26}{times}{self.error:10.1%}  {where:6}  {replayed}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", nargs="*", help="parts of names; all by default")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gpu", action="store_true", help="on the GPU of this machine")
    arguments = parser.parse_args()
    if ROOT not in Path(tidy.__file__).parents:
        parser.error(f"this would measure {Path(tidy.__file__).parent}: set PYTHONPATH={ROOT}")
    if not arguments.gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    # One thread each: what is compared is one script with another.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", PYTHONWARNINGS="ignore")
    print(f"{'ms':26}{''.join(f'{name:>10}' for name in _HEAD)}  range   fidelity")
    done = []
    for pair in measured(arguments.pairs, arguments.rounds, arguments.gpu):
        print(pair.line(), flush=True)
        done.append(pair)
    errors = [abs(pair.error) for pair in done]
    inside = sum(pair.is_inside for pair in done)
    print(
        f"error: {max(errors):.1%} at the most, {statistics.median(errors):.1%} in the median;"
        f" {inside} of {len(done)} in the stated range"
    )


def measured(chosen: list[str], rounds: int, on_gpu: bool) -> Iterator[Pair]:
    """Each pair that was asked for."""
    for (script, framework, device), code in (PAIRS_ON_GPU if on_gpu else PAIRS).items():
        name = "-".join(filter(None, (script, framework, device)))
        if not chosen or any(each in name for each in chosen):
            yield compare(name, script, framework, device, code, rounds)
    if not on_gpu and (not chosen or any(each in V100 for each in chosen)):
        yield published()


def compare(name: str, script: str, framework: str, device: str, code: str, rounds: int) -> Pair:
    """Record, replay and time one pair."""
    wrong, fixed = (
        RunOptions(
            [str(HERE / f"{script}.py"), *more],
            framework=framework,
            device=None if device == _GPU else device or None,
            warmup=_WARMUP,
            steps=_STEPS if device in ("", _GPU) else _STEPS_ON_DEVICE,
            to_stderr=True,
            stop_after=True,
        )
        for more in ([], ["--fixed"])
    )
    recorded, befores, afters, parts = [], [], [], []
    for _ in range(rounds):
        trace, _ = record_once(wrong)
        befores.append(statistics.median(time_once(wrong, [])))
        afters.append(statistics.median(time_once(fixed, [])))
        findings = found(trace, code)
        weighed = weigh(trace, findings)
        recorded.append(weighed.step_ns)
        after = predict(trace, findings, _WHOLE)
        if after is not None:
            parts.append(after)
    before = statistics.median(befores)
    ends = [round(before * statistics.median(each) / _WHOLE) for each in zip(*parts, strict=True)]
    return Pair(
        name,
        round(statistics.median(recorded)),
        round(before),
        round(statistics.median(afters)),
        (ends[0], ends[1]) if ends else None,
        weighed.fidelity,
    )


def found(trace: Trace, code: str) -> list[Finding]:
    return list(tidy.check(trace, select=[code]).findings)


def published() -> Pair:
    """ResNet-50 without loader workers, against the recording of the same with four."""
    wrong, fixed = (
        tidy.load(next(_TRACES.glob(f"kineto__resnet50_num_workers_{workers}__*")))
        for workers in (0, 4)
    )
    weighed = weigh(wrong, found(wrong, "TDY101"))
    recorded, after = weighed.step_ns, weigh(fixed, []).step_ns
    return Pair(V100, recorded, recorded, after, weighed.step_ns_after, weighed.fidelity)


if __name__ == "__main__":
    main()
