"""What the account, the rules and the replay cost beside reading the trace.

    python benchmarks/bench_account.py big.json ...          recorded or made traces
    python benchmarks/bench_account.py --launches 50000 100000 200000

Each round is a process of its own, which reads the trace and then makes the rest of a report: the
rules, the account, and the replay of each finding and of all together. Where fewer than ten
findings say what their fix changes, made-up edits fill up to ten. Printed are medians of seconds of
the processor and of peak memory, and both as parts of what reading took. `--launches` writes traces
of one step with that many launches, one kernel each, to show how the cost grows. `--rules` tells
what each rule takes by itself, and what the evidence takes that several share; see rule_times.py.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rule_times import measure_rules, print_shares

_EDITS = 10
_MIB = 1 << (20 if sys.platform == "darwin" else 10)


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("traces", type=Path, nargs="*")
    parser.add_argument("--launches", type=int, nargs="*", default=[])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--phases", action="store_true", help="seconds of each phase as well")
    parser.add_argument("--rules", action="store_true", help="what each rule takes as well")
    parser.add_argument("--child", choices=("phases", "rules"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        measure = _measure if options.child == "phases" else _measure_rules
        print(json.dumps(measure(options.traces[0])))
        return
    with tempfile.TemporaryDirectory() as folder:
        made = [_one_step(Path(folder, f"{each}_launches.json"), each) for each in options.launches]
        print(f"{'trace':<24} {'events':>9} {'read':>8} {'rest':>8} {'of it':>6}  memory")
        for path in [*options.traces, *made]:
            _print(path, [_child(path, "phases") for _ in range(options.runs)], options.phases)
            if options.rules:
                print_shares([_child(path, "rules") for _ in range(options.runs)])


def _print(path: Path, runs: list[dict[str, float]], with_phases: bool) -> None:
    usual = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    read, rest = usual["read"], usual["rest"]
    share = statistics.median(run["rest"] / run["read"] for run in runs)
    memory = (usual["rest MiB"] - usual["read MiB"]) / usual["read MiB"]
    print(
        f"{path.name[:24]:<24} {usual['events']:9,.0f} {read:6.2f} s {rest:6.2f} s"
        f" {share:6.2f}  {usual['read MiB']:,.0f} MiB + {memory:.2f}"
    )
    if with_phases:
        known = ("read", "rest", "events", "read MiB", "rest MiB")
        print("   ", ", ".join(f"{k} {v:.3f}" for k, v in usual.items() if k not in known))


def _child(path: Path, what: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", what, str(path)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def _peak_mib() -> float:
    """The most memory that this process has held so far."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux `ru_maxrss` is at least the parent's
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB


def _measure(path: Path) -> dict[str, float]:
    """Seconds and peak memory of reading, and of the rest."""
    import tidy
    from tidy.account import make_accounts
    from tidy.check.weigh import weigh

    _import_all()
    marks = [time.process_time()]
    trace = tidy.load(path)
    marks.append(time.process_time())
    read_mib = _peak_mib()
    report = tidy.check(trace)
    marks.append(time.process_time())
    make_accounts(trace)
    marks.append(time.process_time())
    findings = [f for outcome in report.outcomes.values() for f in getattr(outcome, "findings", ())]
    weigh(trace, _with_edits(trace, findings))
    marks.append(time.process_time())
    _ = report.summary
    marks.append(time.process_time())
    names = ("read", "rules", "account", "replay", "summary")
    result = {name: b - a for name, a, b in zip(names, marks[:-1], marks[1:], strict=True)}
    edits = sum(finding.edit is not None for finding in findings)
    return result | {
        "rest": marks[-1] - marks[1],
        "events": len(trace),
        "read MiB": read_mib,
        "rest MiB": _peak_mib(),
        "findings": len(findings),
        "edits": edits,
    }


def _import_all() -> None:
    """Import what a report needs, by making one."""
    import tidy
    from tidy.account import make_accounts

    with tempfile.TemporaryDirectory() as folder:
        small = tidy.load(_one_step(Path(folder, "small.json"), 10))
    _ = tidy.check(small).findings, make_accounts(small)


def _measure_rules(path: Path) -> dict[str, float]:
    """What each rule takes, as parts of reading."""
    _import_all()
    return measure_rules(path)


def _with_edits(trace, findings):  # type: ignore[no-untyped-def]
    """The findings, and made-up ones up to ten that say what their fix changes."""
    from tidy.account import HostTime
    from tidy.finding import CostOfFinding, Finding, Fix, Severity
    from tidy.savings import Edit
    from tidy.trace import EventKind

    track, ops = HostTime(trace).main, trace.rows_of_kind(EventKind.TorchOp)
    for each in range(_EDITS - sum(finding.edit is not None for finding in findings)):
        time_saved = {track: trace.time_of(ops[each::_EDITS])}
        work = trace.device_rows[each::_EDITS]
        edit = Edit("made up", host=time_saved, work=work, left=(0.1, 0.5))
        said = ("TDY000", "made-up", Severity.WARNING, f"made-up {each}", None, ())
        findings.append(Finding(*said, CostOfFinding(), Fix("", edit)))
    return findings


def _one_step(path: Path, launches: int) -> Path:
    """Write a step of many launches: a function calls a module, that two operators."""
    rows = [_x("user_annotation", "ProfilerStep#1", 0, 12.0 * launches + 100, "host")]
    frame = {"Python id": 1, "Python parent id": None}
    rows.append(_x("python_function", "train.py(3): main", 1, 12.0 * launches + 98, "host", frame))
    for number in range(launches):
        at, external = 12.0 * number + 10, {"External id": number + 1}
        call = {"External id": number + 1, "correlation": number + 1}
        work = {**call, "device": 0, "stream": 7}
        line = number // 10 % 500
        if number % 2 == 0:
            name = f"model.py({line}): forward"
            frame = {"Python id": number + 2, "Python parent id": 1}
            rows.append(_x("python_function", name, at - 1, 20.5, "host", frame))
        shapes = {"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]}
        op = "aten::mul" if number % 3 else "aten::add"
        rows.append(_x("cpu_op", op, at, 9.0, "host", {**external, **shapes}))
        rows.append(_x("cuda_runtime", "cudaLaunchKernel", at + 3, 4.0, "host", call))
        kernel = f"void at::native::vectorized_elementwise_kernel<4, {line % 40}>"
        rows.append(_x("kernel", kernel, at + 8 + number % 7 / 10, 8.5, "device", work))
    head = {
        "schemaVersion": 1,
        "record_shapes": 1,
        "with_stack": 1,
        "deviceProperties": [
            {"id": 0, "name": "NVIDIA A100-SXM4-40GB", "computeMajor": 8, "computeMinor": 0}
        ],
    }
    events = ",\n  ".join(rows)
    path.write_text(f'{json.dumps(head)[:-1]}, "traceEvents": [\n  {events}\n]}}', "utf-8")
    return path


def _x(category: str, name: str, at: float, took: float, where: str, args: object = None) -> str:
    process, thread = (1, 1) if where == "host" else (0, 7)
    return json.dumps(
        {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": process,
            "tid": thread,
            "ts": round(1_000_000 + at, 3),
            "dur": round(took, 3),
            "args": args or {},
        }
    )


if __name__ == "__main__":
    main()
