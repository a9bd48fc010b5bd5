"""What a step takes after the recording has ended, against the script alone.

    python benchmarks/bench_after_end.py [--framework torch]... [--width 64]... [--rounds 5]
                                         [--prefix "chrt -r 10"]

A training of 3,000 steps, with layers of 64 or of 512, runs alone and under `tidy run`, in turns,
once for each way in which a recording ends: after its steps, by `--seconds`, by `--max-size`, and
by an error (the folder of the recording is removed). The script takes the processor time of its
last 1,500 steps, in parts of 50, and the quickest part counts: what else the machine does only
makes longer. The table has the quickest over the rounds, and their ratio; Markdown.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

_SCRIPT = """\
import glob, os, shutil, sys, tempfile, time
framework, removes, width = sys.argv[1:]
width = int(width)
if framework == "torch":
    import torch
    from torch import nn
    torch.set_num_threads(1)
else:
    import tidy.runtime as torch
    from tidy.runtime import nn
torch.manual_seed(0)
wide = nn.Linear(width, width), nn.Linear(width, width)
layers = [wide[0], nn.Tanh(), wide[1], nn.Tanh(), nn.Linear(width, 1)]
model = nn.Sequential(*layers)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
inputs = torch.randn(32, width)
def step():
    loss = (model(inputs) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
parts = []
for part in range(60):
    began = time.process_time()
    for _ in range(50):
        step()
    parts.append((time.process_time() - began) / 50)
    if part == 1 and removes == "yes":
        for folder in glob.glob(os.path.join(tempfile.gettempdir(), "tidy-run-*")):
            shutil.rmtree(folder, ignore_errors=True)
    if part < 20:
        time.sleep(0.1)
with open("quickest", "w") as file:
    file.write(str(min(parts[30:])))
"""
_WIDTHS = (64, 512)
_WAYS = {
    "steps": ["--steps", "10"],
    "seconds": ["--steps", "100000", "--seconds", "0.5"],
    "size": ["--steps", "100000", "--max-size", "300k"],
    "error": ["--steps", "100000"],
}


def _quickest_s(command: list[str], folder: Path) -> float:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment["TMPDIR"] = str(folder)  # so that no other recording's folder is removed
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1, 2):  # 2: of the folder that was removed nothing is reported
        raise SystemExit(f"{shlex.join(command)}: {done.stderr}")
    return float((folder / "quickest").read_text("utf-8"))


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--framework", action="append", choices=("torch", "runtime"))
    parser.add_argument("--way", action="append", choices=tuple(_WAYS))
    parser.add_argument("--width", action="append", type=int, help="of the layers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prefix", default="", help="goes before each command")
    given = parser.parse_args()
    start = [*shlex.split(given.prefix), sys.executable]
    print("| ended by | framework | width | alone, us | after it, us | ratio |")
    print("|---|---|---|---|---|---|", flush=True)
    cases = product(given.width or _WIDTHS, given.framework or ("torch", "runtime"))
    for width, framework in cases:
        for way in given.way or _WAYS:
            alone, after = list[float](), list[float]()
            for _ in range(given.rounds):
                with tempfile.TemporaryDirectory() as name:
                    folder = Path(name)
                    (folder / "train.py").write_text(_SCRIPT, "utf-8")
                    removes = "yes" if way == "error" else "no"
                    script = ["train.py", framework, removes, str(width)]
                    alone.append(_quickest_s([*start, *script], folder))
                    tidy = ["-m", "tidy", "run", "--fail-on", "never", *_WAYS[way]]
                    after.append(_quickest_s([*start, *tidy, *script], folder))
            before_us, after_us = (min(each) * 1e6 for each in (alone, after))
            ratio = after_us / before_us
            cells = way, framework, width, f"{before_us:.1f}", f"{after_us:.1f}", f"{ratio:.3f}"
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
