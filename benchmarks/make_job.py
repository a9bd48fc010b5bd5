"""Make a job of many ranks: one Kineto trace a rank, and the truth about it in `truth.json`.

    python benchmarks/make_job.py build/job --ranks 8 --plant slow-gpu --seed 3
    python benchmarks/make_job.py build/job --ranks 2 --from examples/traces/train_half.json.gz

The same options make the same files. docs/jobs-maker.md says what is simulated.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from job_maker import PLANTS, JobOptions, make_job

from tidy.errors import TidyError

_LINES = [f"  {each.name:18} {each.says} ({each.strength:g})" for each in PLANTS.values()]
_EPILOG = "\b\nPlants, and their default strengths:\n" + "\n".join(_LINES)
_COUNT = click.IntRange(min=1)


@click.command(help=__doc__.partition("\n")[0] if __doc__ else "", epilog=_EPILOG)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--ranks", type=click.IntRange(min=2), default=8, show_default=True)
@click.option("--plant", type=click.Choice(list(PLANTS)), default="none", metavar="PLANT")
@click.option("--strength", type=float, help="How strong it is.")
@click.option("--rank", type=click.IntRange(min=0), help="The rank that is hit.")
@click.option("--steps", type=_COUNT, default=5, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0)
@click.option("--from", "source", default="modelled", help="A Kineto trace to take the step from.")
@click.option("--tensor-parallel", type=_COUNT, default=1, metavar="K")
@click.option("--pipeline", type=_COUNT, default=1, metavar="K", help="Stages.")
@click.option(
    "--microbatches", type=click.IntRange(min=0), default=0, help="Of a step of a pipeline."
)
@click.option("--node-size", type=_COUNT, default=8, show_default=True)
@click.option("--quiet", is_flag=True, help="Without jitter.")
def main(folder: Path, source: str, **options: Any) -> None:
    """Make the job that the command line asks for."""
    trace = None if source == "modelled" else Path(source)
    try:
        truth = make_job(folder, JobOptions(source=trace, **options))
    except (OSError, ValueError, TidyError) as error:
        raise click.UsageError(str(error)) from None
    cost_ms = (truth["job_ns"] - truth["without_ns"]) / 1e6
    plant = truth["plant"]
    click.echo(f"{folder}: {plant['name']}, ranks {plant['ranks']}, costs the job {cost_ms:.2f} ms")


if __name__ == "__main__":
    main()
