"""Reports on recorded traces as they stand in tests/data/reports, which guard moves of code.

They do not say that a report is right: other tests do. Where one changes, each line that changed is
read before the new one is kept with `python -m tests.cli.reports`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..environment import ROOT
from .command import tidy

FOLDER = ROOT / "tests" / "data" / "reports"
_REAL, _OWN = "tests/data/packed/real", "tests/data/traces"
# Devices and eras of PyTorch; jobs of two ranks; no device, no steps, no stacks, damaged values.
TRACES = {
    "alexnet": [
        f"{_REAL}/hta__critical_path__alexnet__benchmark_result_2869224_1695835535_trace.json.gz"
    ],
    "mi250": [f"{_REAL}/hta__amd_trace__mi250_minitoy_train_ROCm6_2_kineto.json.gz"],
    "two_ranks": [f"{_REAL}/hta__trace_filter__sampled_rank-{rank}.json.gz" for rank in (0, 1)],
    "dlrm": [
        f"{_REAL}/param__dlrm__dlrm_kineto__worker{rank}_step_12.16941282015{end}.pt.trace.json.gz"
        for rank, end in enumerate((45, 56))
    ],
    "h100": [f"{_REAL}/tracelens__h100__gaunernst_bert-small-uncased__1016001.json.gz"],
    "mi300": [f"{_REAL}/tracelens__mi300__Falconsai_nsfw_image_detection__1016002.json.gz"],
    "h200": ["tests/data/h200/item_each_step.json.gz"],
    "matmul": [f"{_REAL}/tracelens__gemm_02_compute_non_pow2.json"],
    "training": [f"{_REAL}/misc__sidnb13__dc3b0e7228dd_851.1752215573993169006.pt.trace.json.gz"],
    "zoology": [f"{_REAL}/misc__zoology__trace.json.gz"],
    "ddp": [f"tests/data/packed/torch_cpu/ddp_gloo_rank{rank}.pt.trace.json.gz" for rank in (0, 1)],
    "odd_values": ["tests/data/packed/torch_cpu/odd_values.pt.trace.json.gz"],
}
# Recorded by `tidy run` or on our runtime, whose places have the lines of calls.
RUNS = {
    **{
        name: [f"examples/traces/{name}.json.gz"]
        for name in ("train_cnn", "train_cnn_fixed", "train_half")
    },
    **{
        name: [f"{_OWN}/{name}.pt.trace.json.gz"]
        for name in ("device_training", "device_parallel", "data-set-workers")
    },
}
FORMS = {
    "txt": ("report",),
    "json": ("report", "--format", "json"),
    "sarif": ("report", "--format", "sarif"),
    "md": ("report", "--format", "markdown"),
    "github": ("report", "--format", "github"),
    "account.txt": ("account",),
}


def written() -> Iterator[tuple[str, str]]:
    """The names of the files, each with what stands in it."""
    for name, paths in {**TRACES, **RUNS}.items():
        for form in FORMS:
            yield f"{name}.{form}", report(form, paths)


def report(form: str, paths: list[str]) -> str:
    """What the command wrote, and its exit code; the same wherever the checkout is."""
    command, *options = FORMS[form]
    done = tidy(command, *options, *paths)
    assert done.err == ""
    out = _without_rules(done.out) if form == "sarif" else done.out
    return f"{out}exit code {done.code}\n"


def _without_rules(log: str) -> str:
    """A SARIF log without what it says of each rule, which is the same in all."""
    said = json.loads(log)
    for run in said["runs"]:
        del run["tool"]["driver"]["rules"]
    return json.dumps(said, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    for name, text in written():
        (FOLDER / name).write_text(text, "utf-8", newline="\n")
