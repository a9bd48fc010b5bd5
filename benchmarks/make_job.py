"""Make a job of many ranks: one Kineto trace a rank, and the truth about it in `truth.json`.

    python benchmarks/make_job.py build/job --ranks 8 --plant slow-gpu --seed 3
    python benchmarks/make_job.py build/job --ranks 2 --from examples/traces/train_half.json.gz

The same options make the same files. docs/jobs-maker.md says what is simulated.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from job_maker import PLANTS, JobOptions, make_job


def main() -> None:
    """Parse the command line."""
    lines = [f"  {each.name:18} {each.says} ({each.strength:g})" for each in PLANTS.values()]
    plants = "\n".join(lines)
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog=f"plants, and their default strengths:\n{plants}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--plant", choices=PLANTS, default="none", metavar="PLANT")
    parser.add_argument("--strength", type=float, help="how strong it is")
    parser.add_argument("--rank", type=int, help="the rank that is hit")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--from", dest="source", default="modelled", help="a Kineto trace to take the step from"
    )
    parser.add_argument("--tensor-parallel", type=int, default=1, metavar="K")
    parser.add_argument("--pipeline", type=int, default=1, metavar="K", help="stages")
    parser.add_argument("--microbatches", type=int, default=0, help="of a step of a pipeline")
    parser.add_argument("--node-size", type=int, default=8)
    parser.add_argument("--quiet", action="store_true", help="without jitter")
    options = vars(parser.parse_args())
    folder, source = options.pop("folder"), options.pop("source")
    options["source"] = None if source == "modelled" else Path(source)
    try:
        truth = make_job(folder, JobOptions(**options))
    except (OSError, ValueError) as error:
        parser.error(str(error))
    cost_ms = (truth["job_ns"] - truth["without_ns"]) / 1e6
    plant = truth["plant"]
    print(f"{folder}: {plant['name']}, ranks {plant['ranks']}, costs the job {cost_ms:.2f} ms")


if __name__ == "__main__":
    main()
