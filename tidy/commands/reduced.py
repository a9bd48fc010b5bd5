"""The files of a report, reduced to summaries: in worker processes, or one after the other."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from uuid import uuid4

from ..check.pipeline import CheckSettings
from ..errors import UsageError
from ..progress import ranks_read, say
from ..readers.text_size import has_text, is_few
from ..readers.urls import is_url
from ..readers.workers import best_method
from ..reducing import RankSettings, Reduced, reduce_files
from ..reducing.pool import FilePool
from .files import InputFiles
from .report_options import ReportOptions

# Less text is read before workers have started, which takes longer where they are no forks.
_FEWEST_NBYTES, _FEWEST_SPAWNED_NBYTES = 20_000_000, 60_000_000


def read_reduced(
    inputs: InputFiles, options: ReportOptions, checks: CheckSettings
) -> Reduced | None:
    """Return what came of all files; None where one process is to read the traces.

    That is so where nothing is gained by workers and there are few, and where more is asked for
    than a summary has.
    """
    paths = [path for path, _ in inputs.files]
    on_dask = options.dask or options.scheduler is not None
    if not paths:
        return None
    if _needs_traces(options) or any(map(_is_pipe, paths)):
        if on_dask:
            problem = "what is asked for needs the traces here; docs/scaling.md says when"
            raise UsageError(f"--{'dask' if options.dask else 'scheduler'}: {problem}")
        return None
    count = min(inputs.jobs, len(paths))
    fewest = _FEWEST_NBYTES if best_method() == "fork" else _FEWEST_SPAWNED_NBYTES
    in_workers = not on_dask and count > 1 and has_text(paths, fewest)
    if not on_dask and not in_workers and is_few(paths):
        return None
    settings = RankSettings(
        options.select,
        options.ignore,
        [str(Path(each).absolute()) if _is_file(each) else each for each in options.patterns],
        options.settings,
        tuple(checks.folders),
        checks.savings,
        checks.warn_from,
        options.step,
        command=uuid4().hex,
    )
    if on_dask:
        from ..reducing.dask_pool import DaskPool  # loads logging

    # Workers start before the bar does, whose thread a fork had better not see.
    with (
        DaskPool(options.scheduler, options.jobs)
        if on_dask
        else FilePool(count)
        if in_workers
        else nullcontext() as pool,
        ranks_read(paths) as progress,
    ):
        reduced = reduce_files(paths, settings, pool, progress)
    for path, why in reduced.problems.items():
        if why.is_of_cluster:
            inputs.lose(path, f"the cluster was lost: {why.text}")
        else:
            inputs.refuse(path, why.text, is_foreign=why.is_foreign)
    inputs.take_read(reduced.read)
    for note in reduced.notes:
        say(note)
    return reduced


def _needs_traces(options: ReportOptions) -> bool:
    asked = options.name, options.perfetto, options.baseline_to, options.baseline
    is_page = any(each.form == "html" for each in options.outputs)
    return any(asked) or options.add_ignores or is_page


def _is_pipe(path: str) -> bool:
    """Tell whether this process alone can read a path; what is missing any process refuses."""
    if path == "-":
        return True
    try:
        return not is_url(path) and Path(path).exists() and not Path(path).is_file()
    except (OSError, ValueError):
        return False


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False
