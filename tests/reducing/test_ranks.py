"""The report of many ranks does not depend on the processes that read them."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from job_maker import JobOptions, make_job

from tidy.commands import reduced
from tidy.commands.files import InputFiles
from tidy.readers.workers import best_method
from tidy.reducing import RankFile, RankSettings, pool, rank, reduce_files, reduce_held
from tidy.summary import decode, encode

from ..cli.command import EXAMPLES, Result, tidy
from ..cli.traces import clean, loop, write
from ..cli.traces import rank as of_rank
from ..endings import ENDINGS, needs_proc, run_alone, wait_until_over
from ..environment import SOAK, pairs
from .comparing import COMPARES

_METHODS = ["fork", "spawn"] if hasattr(os, "fork") else ["spawn"]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four ranks, one of which is slow, twice some of them, and what belongs to no job."""
    runs = tmp_path_factory.mktemp("scale") / "runs"
    make_job(runs, JobOptions(ranks=4, plant="slow-gpu", steps=4, seed=3, rank=1))
    shutil.copy(runs / "rank-0002.json.gz", runs / "z-again.json.gz")
    shutil.copy(EXAMPLES[0], runs / "other.json.gz")
    write(runs / "loop.json", loop())
    (runs / "z-cut.json.gz").write_bytes((runs / "rank-0000.json.gz").read_bytes()[:2000])
    (runs / "z-broken.json").write_text('{"traceEvents": 3}')
    return runs


@pytest.fixture
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers for little, too."""
    monkeypatch.setattr(reduced, "_FEWEST_NBYTES", 0)
    monkeypatch.setattr(reduced, "_FEWEST_SPAWNED_NBYTES", 0)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the traces of no two ranks together."""
    monkeypatch.setattr("tidy.readers.text_size._MOST_FILES", 1)


def _method(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    monkeypatch.setattr(pool, "best_method", lambda: method)


def _report(runs: Path, *more: str | Path) -> Result:
    return tidy("report", runs.name, *more, cwd=runs.parent)


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize("method", _METHODS)
def test_the_report_is_the_same(job: Path, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _method(monkeypatch, method)
    expected = _report(job, "--format", "json", "--jobs", "1")
    assert len(expected.json()["traces"]) == 6
    assert "TDY902" in expected.out
    assert _report(job, "--format", "json", "--jobs", "3") == expected


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize(
    "more", [[], ["--step", "slowest"], ["--select", "TDY9"], ["--savings", "off"]]
)
def test_the_same_with_options(
    job: Path, more: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def of(jobs: str, *options: str | Path) -> Result:
        return tidy("report", *given, *more, "--jobs", jobs, *options)

    _method(monkeypatch, _METHODS[0])
    given = [job / f"rank-000{number}.json.gz" for number in (2, 0, 1, 0)]
    # Forms are made of the summaries, here and there.
    for form in ("text", "sarif", "markdown", "github") if SOAK else ():
        assert of("2", "--format", form) == of("1", "--format", form)
    one, two = (of(jobs, "--format", "json", "--summaries", tmp_path / jobs) for jobs in "12")
    assert one == two
    kept = [{e.name: e.read_bytes() for e in (tmp_path / jobs).iterdir()} for jobs in "12"]
    assert len(kept[0]) == 3
    assert kept[0] == kept[1]


@pytest.mark.usefixtures("_always", "many")
def test_many_ranks_are_compared_by_their_tables(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _method(monkeypatch, _METHODS[0])
    expected = _report(job, "--format", "json", "--jobs", "1")
    assert _report(job, "--format", "json", "--jobs", "2") == expected
    found = [each for each in expected.json()["traces"] if "rank-" in each["path"]]
    late = {
        each["path"][-9]: finding["message"]
        for each in found
        for finding in each["findings"]
        if finding["code"] == "TDY902"
    }
    # Rank 1 is the slow one: the others wait for it, and it for none of them.
    assert {*late} == {"0", "2", "3"}
    for number, message in late.items():
        assert message.startswith(f"rank {number} waits for rank 1, which comes last to ")


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize("how_many", ["few", "many"])
def test_a_step_that_is_in_two_files_counts_once(
    tmp_path: Path, how_many: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second recording of rank 0 begins in the last step of the first."""
    _method(monkeypatch, _METHODS[0])
    if how_many == "many":
        request.getfixturevalue("many")
    for number in (0, 1):
        write(tmp_path / f"r{number}.json", _steps(1, 5), **of_rank(number))
    write(tmp_path / "r0-later.json", _steps(4, 8), **of_rank(0))
    expected, result = (
        tidy("report", "r0.json", "r0-later.json", "r1.json", "--jobs", jobs, cwd=tmp_path)
        for jobs in "12"
    )
    assert "r0-later.json: 1 of its 4 steps are in r0.json too; counted once" in expected.err
    assert result == expected


def _steps(first: int, end: int) -> list[dict[str, Any]]:
    events = []
    for number in range(first, end):
        start_us = 1_712_345_678_000_000 + 1000 * number
        events += [
            {**each, "ts": each["ts"] + start_us}
            for each in (
                {**clean()[1], "name": f"ProfilerStep#{number}", "cat": "user_annotation",
                 "ts": 0, "dur": 900},
                *loop(),
            )
        ]  # fmt: skip
    return events


@pytest.mark.usefixtures("_always")
def test_no_step_is_a_step_of_none(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _method(monkeypatch, _METHODS[0])
    expected, result = (_report(job, "--step", "99", "--jobs", jobs) for jobs in "12")
    assert expected.code == 2
    assert result == expected


def test_one_file_becomes_one_summary(job: Path) -> None:
    file = RankFile(str(job / "rank-0001.json.gz"))
    reduced, _ = reduce_held(None, file, RankSettings())
    assert isinstance(reduced, rank.ReducedRank)
    summary = decode(reduced.content, file.path)
    assert (summary.run.rank, summary.origin.name) == (1, "rank-0001.json.gz")
    assert encode(summary) == reduced.content
    broken = RankFile(str(job / "z-broken.json"))
    problem, _ = reduce_held(None, broken, RankSettings())
    assert isinstance(problem, rank.Problem)
    assert "traceEvents is no list" in problem.text


@pytest.mark.usefixtures("_always")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="patches what a fork inherits")
@pytest.mark.parametrize(("how_many", "stage"), pairs(("few", "many"), ("look_at", "found_keys")))
def test_a_worker_that_dies_takes_one_rank_with_it(
    job: Path,
    how_many: str,
    stage: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _method(monkeypatch, "fork")
    if how_many == "many":
        request.getfixturevalue("many")
    parent, read = os.getpid(), rank._judged if stage != "look_at" else rank._read

    def dies(*given: Any) -> Any:
        (file,) = (each for each in given if isinstance(each, RankFile))
        if file.path.endswith("rank-0002.json.gz") and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return read(*given)

    monkeypatch.setattr(rank, read.__name__, dies)
    result = _report(job, "--format", "json", "--jobs", "2")
    assert result.code == 2
    assert f"{job.name}/rank-0002.json.gz: the process that read it was ended by signal 9" in (
        result.err
    )
    paths = [Path(each["path"]).name for each in result.json()["traces"]]
    assert {"rank-0000.json.gz", "rank-0001.json.gz", "rank-0003.json.gz"} <= {*paths}
    assert "rank-0002.json.gz" not in paths


@pytest.mark.usefixtures("_always")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="patches what a fork inherits")
def test_what_goes_wrong_in_a_worker_is_one_line(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _method(monkeypatch, "fork")
    parent, read = os.getpid(), rank._read

    def fails(file: RankFile) -> Any:
        path = file.path
        if path.endswith("loop.json") and os.getpid() != parent:
            raise KeyError("one\ntwo")
        if path.endswith("other.json.gz") and os.getpid() != parent:
            raise MemoryError
        return read(file)

    monkeypatch.setattr(rank, "_read", fails)
    result = _report(job, "--jobs", "2")
    assert result.code == 2
    lines = [line for line in result.err.splitlines() if "loop.json" in line]
    assert lines == [r"tidy: runs/loop.json: the process that read it failed: KeyError: 'one\ntwo'"]
    assert "ranks 0-3 of 4" in " ".join(result.out.split())


def test_little_is_read_here(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(reduced, "FilePool", none)
    assert _report(job, "--jobs", "2").code == 1


# Two workers write down who they are and sleep; then the command itself is ended.
_SCRIPT = """
import os, signal, sys, threading, time
from pathlib import Path
from tidy.commands import reduced
from tidy.reducing import rank
reduced._FEWEST_NBYTES = reduced._FEWEST_SPAWNED_NBYTES = 0
folder, parent = Path(sys.argv[2]), os.getpid()

def read(path):
    (folder / f"{os.getpid()}.pid").touch()
    time.sleep(600)

def end():
    while len(list(folder.glob("*.pid"))) < 2:
        time.sleep(0.01)
    HOW

if __name__ == "__main__":
    from tidy.reducing import pool
    from tidy.__main__ import main
    rank._read, real = read, pool.FilePool.run

    def run(self, *more):
        threading.Thread(target=end, daemon=True).start()
        return real(self, *more)

    pool.FilePool.run = run
    sys.argv = ["tidy", "report", "--jobs", "2", sys.argv[1]]
    main()
"""


@needs_proc
@pytest.mark.parametrize(("how", "code", "said"), ENDINGS)
def test_no_worker_outlives_the_command(
    job: Path, tmp_path: Path, how: str, code: int, said: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT.replace("HOW", how), "utf-8")
    assert run_alone(script, job, tmp_path) == (code, "", said)
    workers = [path.stem for path in tmp_path.glob("*.pid")]
    assert len(workers) == 2
    wait_until_over(workers)


def test_the_usual_method_is_one_of_both() -> None:
    assert best_method() in ("fork", "spawn")


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize(
    ("of", "how"), pairs(("", "[1]"), ('raise TypeError("no")', "return fails, ()"))
)
def test_a_rule_that_says_what_cannot_be_sent(
    job: Path, of: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or not be received, of all ranks or of one: this process finishes these, and reads none."""
    _method(monkeypatch, _METHODS[0])
    rule = COMPARES.replace("OF", of or "[0, 1, 2, 3]").replace("HOW", how)
    (tmp_path / "odd.py").write_text(rule, "utf-8")
    more = "--patterns", str(tmp_path / "odd.py"), "--format", "json"
    expected = _report(job, *more)
    assert expected.out.count('"message": "it is odd') == (1 if of else 4)

    def never(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(InputFiles, "read", never)
    parent, read = os.getpid(), rank._read

    def reads(file: RankFile) -> Any:
        assert os.getpid() != parent
        return read(file)

    monkeypatch.setattr(rank, "_read", reads)
    assert _report(job, *more, "--jobs", "2") == expected


@pytest.mark.usefixtures("_always")
def test_what_goes_wrong_with_a_file_that_stays_here_is_one_line(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _method(monkeypatch, _METHODS[0])
    rule = COMPARES.replace("OF", "[1]").replace("HOW", 'raise TypeError("no")')
    (tmp_path / "odd.py").write_text(rule, "utf-8")
    parent, judged = os.getpid(), rank._judged

    def fails(*given: Any) -> Any:
        if os.getpid() == parent:
            raise KeyError("one\ntwo")
        return judged(*given)

    monkeypatch.setattr(rank, "_judged", fails)
    result = _report(job, "--patterns", str(tmp_path / "odd.py"), "--jobs", "2")
    assert result.code == 2
    lines = [line for line in result.err.splitlines() if "KeyError" in line]
    assert lines == [
        r"tidy: runs/rank-0001.json.gz: the process that read it failed: KeyError: 'one\ntwo'"
    ]


def test_the_pool_forgets_what_stays_here(job: Path, tmp_path: Path) -> None:
    rule = COMPARES.replace("OF", "[1]").replace("HOW", 'raise TypeError("no")')
    (tmp_path / "odd.py").write_text(rule, "utf-8")
    paths = [str(job / f"rank-{number:04}.json.gz") for number in range(4)]
    asked = list[pool.FileCall]()

    class Asked(pool.Here):
        def run(self, calls: Any, watch: Any) -> Any:
            asked.extend(calls)
            return super().run(calls, watch)

    settings = RankSettings(select=["ABC124"], patterns=[str(tmp_path / "odd.py")])
    assert len(reduce_files(paths, settings, Asked()).summaries) == 4
    assert [each.path for each in asked if each.function is rank.forget] == [paths[1]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals of POSIX")
def test_idle_workers_that_died_are_replaced() -> None:
    with pool.FilePool(2, "fork") as workers:
        for each in [*workers._workers.values()]:
            os.kill(each.process.pid, signal.SIGKILL)
            each.process.join()
        calls = [pool.FileCall(str(number), _asked, ()) for number in range(4)]
        pids = {result for _, result in workers.run(calls, lambda _: None)}
    # Where the pipe took the question before it was seen that nobody answers, it is lost.
    assert os.getpid() not in pids
    assert any(isinstance(each, int) for each in pids)


def _asked(_left: None) -> tuple[int, None]:
    return os.getpid(), None


_LEAVES = """
import os, sys
from tidy.reducing.pool import FileCall, FilePool
def asked(left):
    return (os.getpid() if left is None else left), os.getpid()
if __name__ == "__main__":
    calls = [FileCall(str(number), asked, ()) for number in range(5)]
    with FilePool(2, sys.argv[1]) as workers:
        first, *others = (dict(workers.run(calls, lambda _: None)) for _ in range(3))
    assert [first] * 2 == others, (first, others)
    assert len({*first.values(), os.getpid()}) == 3, first
"""


@pytest.mark.parametrize("method", _METHODS)
def test_what_a_call_leaves_is_there_for_the_next_on_the_file(method: str, tmp_path: Path) -> None:
    """In a process of its own, in which nobody else closes files."""
    script = tmp_path / "script.py"
    script.write_text(_LEAVES, "utf-8")
    assert run_alone(script, method) == (0, "", "")


def test_traces_of_an_earlier_command_are_not_those_of_this_one(tmp_path: Path) -> None:
    """A process outlives commands, and a file may be recorded anew under its name."""
    for rounds in (5, 9):
        for number in (0, 1):
            write(tmp_path / f"r{number}.json", _steps(1, rounds), **of_rank(number))
        paths = [str(tmp_path / f"r{number}.json") for number in (0, 1)]
        found = reduce_files(paths, RankSettings()).summaries
        assert [len(each.steps) for each in found] == [rounds - 1] * 2
