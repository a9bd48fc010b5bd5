"""How often `tidy diff` errs: on runs that are alike, and on those with a slowdown in one op.

    python benchmarks/diff_errors.py recorded --pairs 20      runs of tidy.runtime, one by one
    python benchmarks/diff_errors.py stretched FILE...        traces, one op of which is stretched

Of recorded runs the odd ones are as they are and the even ones too (A against A), then each is
compared with a run in which `aten::tanh` does more work, 5 % of a step. That is caught where the
diff says that the step is slower or names the op; named where the op is among those that certainly
grew. A stretched trace is the recorded one with the calls of one op made longer, so that steps
become 5 % longer, and with each step and the whole run made longer or shorter by chance.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import numpy as np

import tidy
from tidy.diff import Comparison, Side, side_of_traces
from tidy.diff.op_table import OP, OpRow

PLANTED = 0.05
_OP = "aten::tanh"
# Threads of a BLAS wait for each other where other work takes a processor away.
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
_SCRIPT = """
    import os
    import numpy as np

    more, tanh = float(os.environ["MORE"]), np.tanh

    def slower(x, *args, **kwargs):
        result = tanh(x, *args, **kwargs)
        for _ in range(int(more)):
            tanh(x)
        tanh(np.ravel(x)[: int(more % 1 * np.size(x))])
        return result

    np.tanh = slower
    import tidy.runtime as torch
    from tidy.runtime import nn

    torch.manual_seed(0)
    layers = [nn.Linear(128, 256), nn.Tanh(), nn.Linear(256, 128), nn.ReLU(), nn.LayerNorm(128)]
    model = nn.Sequential(*layers, nn.Linear(128, 128), nn.Sigmoid(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters())
    inputs, labels = torch.randn(64, 128), torch.randint(0, 10, (64,))
    for _ in range(int(os.environ["STEPS"])):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
"""


def record(folder: Path, name: str, steps: int, more: float = 0.0) -> Side:
    """One run of the script, in which tanh does so much more of its own work."""
    script, trace = folder / "train.py", folder / f"{name}.json.gz"
    script.write_text(dedent(_SCRIPT), "utf-8")
    command = [
        sys.executable,
        "-m",
        "tidy",
        "run",
        "--steps",
        str(steps),
        "--warmup",
        "5",
        "--stop-after",
        "--quickest",
    ]
    subprocess.run(
        [*command, "--fail-on", "never", "--savings", "off", "--trace", str(trace), "-q", script],
        env={**os.environ, **_ONE_THREAD, "MORE": str(more), "STEPS": str(2 * steps + 80)},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return side(trace)


def side(trace: Path) -> Side:
    return side_of_traces(str(trace), [tidy.check(tidy.load(trace), savings="off")])


def describe(pair: Comparison, op: str = _OP) -> tuple[bool, bool, bool]:
    """Whether a regression is said, whether the op is named, and whether others are."""
    certain = [each for each in pair.ops if each.is_certain and each.what in ("came", "grew")]
    named = any(each.key.name == op for each in certain)
    others = any(each.key.name != op for each in certain)
    step = pair.step
    low, high = (step.low, step.high) if step else (None, None)
    print(
        f"  {pair.verdict:9} step {step.estimate if step else 0:+.1%}"
        f" ({'?' if low is None else f'{low:+.1%} to {high:+.1%}'}), machine"
        f" {pair.machine.growth:+.1%} give or take {pair.machine.spread:.1%}, at least"
        f" {pair.least_regression or 0:+.1%};",
        ", ".join(f"{each.what} {each.key.name or 'Python'} {each.of_step.estimate:+.1%}"
                  for each in certain) or "no op",
        "not comparable: " + str(pair.differences) if pair.differences else "",
        flush=True,
    )  # fmt: skip
    return pair.verdict == "slower" or named, named, others or pair.verdict == "slower"


def recorded(pairs: int, steps: int) -> None:
    """Runs of tidy.runtime, on the machine as it is."""
    clean = caught = named = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        base = record(folder, "first", steps)
        # What one more call of numpy's tanh adds is less than the op takes.
        longer = record(folder, "longer", steps, 10)
        added = time_of(longer, _OP) - time_of(base, _OP)
        more = 10 * PLANTED * (base.step_ns or 0) / added
        print(
            f"step {(base.step_ns or 0) / 1e6:.2f} ms, {_OP} {time_of(base, _OP) / 1e3:.1f} us,"
            f" to be {more:.1f} calls longer"
        )
        for number in range(pairs):
            print(f"pair {number + 1}")
            new = record(folder, f"same-{number}", steps)
            slow = record(folder, f"slow-{number}", steps, more)
            said, _, others = describe(Comparison(base, new))
            clean += not said and not others
            one, other, _ = describe(Comparison(new, slow))
            caught, named = caught + one, named + other
            base = new
            print(
                f"so far clean {clean}, caught {caught}, named {named} of {number + 1}", flush=True
            )


def time_of(run: Side, name: str) -> float:
    """Nanoseconds of a median step in the ops of this name."""
    rows = [row for key, row in (run.ops or {}).items() if key.sort == OP and key.name == name]
    return float(np.median(np.sum([row.step_ns for row in rows], axis=0)))


def stretched(files: list[str], pairs: int) -> None:
    """Each of the traces, with its largest op stretched."""
    for file in files:
        base = side(Path(file))
        if base.step_ns is None or len(base.steps_ns) < 2 or not base.ops:
            print(f"{file}: no steps, left out")
            continue
        op = max(base.ops, key=lambda key: float(np.median(base.ops[key].step_ns)))  # type: ignore[index]
        print(f"{file}: {len(base.steps_ns)} steps, {op.sort} {op.name}")
        clean = caught = named = 0
        for made in by_chance(base, pairs):
            clean += not describe(Comparison(base, made), op.name)[0]
            pair = Comparison(base, with_longer(made, op))
            one, other, _ = describe(pair, op.name)
            caught, named = caught + one, named + other
        print(f"clean {clean}, caught {caught}, named {named} of {pairs}")


def by_chance(run: Side, count: int) -> Iterator[Side]:
    """The run again, with steps and ops as long as they may be by chance."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        order = rng.integers(0, len(run.steps_ns), max(len(run.steps_ns), 12))
        noise = np.exp(rng.normal(0, 0.03) + rng.normal(0, 0.03, len(order)))
        ops = {
            key: replace(row, step_ns=row.step_ns[order] * noise * np.exp(rng.normal(0, 0.01)))
            for key, row in (run.ops or {}).items()
        }
        yield replace(run, runs=[run.steps_ns[order] * noise], timed=[None], ops=ops)


def with_longer(run: Side, op: object) -> Side:
    """The run with one op longer, so that steps are `PLANTED` longer."""
    ops = dict(run.ops or {})
    row = ops[op]  # type: ignore[index]
    more = PLANTED * run.steps_ns
    ops[op] = OpRow(row.location, row.step_ns + more, row.count)  # type: ignore[index]
    return replace(run, runs=[run.steps_ns + more], ops=ops)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("recorded", "stretched"))
    parser.add_argument("files", nargs="*")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args()
    if given.what == "recorded":
        recorded(given.pairs, given.steps)
    else:
        stretched(given.files, given.pairs)


if __name__ == "__main__":
    main()
