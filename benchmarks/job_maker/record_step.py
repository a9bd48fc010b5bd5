"""Record one training step on the modelled A100, as the step that jobs are made of.

    python benchmarks/job_maker/record_step.py

It takes a minute, since numpy computes the numbers, and so its result is kept in `step.json.gz`.
Host times are set to what PyTorch takes: those of numpy would say nothing.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import tidy.runtime as torch
from tidy.profiler import profile
from tidy.runtime import Tensor, cuda, nn
from tidy.runtime.utils.data import DataLoader, Dataset

RECORDED = Path(__file__).with_name("step.json.gz")
BATCH, LENGTH, WIDTH, WORDS, LAYERS = 8, 448, 1024, 2000, 2

_IN_LOADER_NS = 40_000
_PYTHON_NS = 9_000
_OPERATOR_NS = 2_500
_LEFT_OUT = ("Reads", "Writes", "Record function id", "Concrete Inputs", "Input Strides")
_DEVICE_KINDS = ("kernel", "gpu_memcpy", "gpu_memset")


class Texts(Dataset[Tensor]):
    """Samples of one word more than the model reads."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return 2 * BATCH

    def __getitem__(self, index: int) -> Tensor:
        return torch.full((self.length + 1,), index, dtype=torch.long)


class Block(nn.Module):
    """The second half of a transformer layer."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def record(path: Path) -> None:
    """Write the trace of one step; the one before it has set up the optimizer."""
    cuda.configure("a100", 1)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    layers = [nn.Embedding(WORDS, WIDTH), *(Block() for _ in range(LAYERS))]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, WORDS)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step(batches: Any) -> None:
        batch = next(batches)
        inputs = batch[:, :-1].to("cuda", non_blocking=True)
        targets = batch[:, 1:].to("cuda", non_blocking=True)
        scores = model(inputs)
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()

    for length in (4, LENGTH):
        loader = iter(DataLoader(Texts(length), batch_size=BATCH, pin_memory=True))
        if length == LENGTH:
            break
        step(loader)
    with profile(record_shapes=True) as prof:
        step(loader)
    prof.export_chrome_trace(path)


def with_host_times(trace: dict[str, Any]) -> dict[str, Any]:
    """Return the trace with host times as PyTorch has them, from each start or end to the next."""
    events = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] != "Trace"]
    host = [e for e in events if e["cat"] in ("cpu_op", "user_annotation", "cuda_runtime")]
    host = [e for e in host if e["name"] != "cudaMalloc"]
    work = [e for e in events if e["cat"] in _DEVICE_KINDS]
    ends = [(e["ts"], 1, -e["dur"], n) for n, e in enumerate(host)]
    ends += [(e["ts"] + e["dur"], 0, -n, n) for n, e in enumerate(host)]
    now_ns, open_events = 0, list[int]()
    starts = dict[int, int]()
    for _, is_start, _, n in sorted(ends):
        inside = [host[each]["name"] for each in open_events]
        if any("DataLoader" in name for name in inside):
            now_ns += _IN_LOADER_NS
        elif any("::" in name or "Backward" in name for name in inside):
            now_ns += _OPERATOR_NS
        else:
            now_ns += _PYTHON_NS
        if is_start:
            starts[n] = now_ns
            open_events.append(n)
        else:
            if host[n]["cat"] == "cuda_runtime":
                now_ns += 5_000 - _OPERATOR_NS
            host[n]["ts"], host[n]["dur"] = starts[n] / 1e3, (now_ns - starts[n]) / 1e3
            open_events.remove(n)
    kept = sorted([*host, *work], key=lambda e: (e["cat"] in _DEVICE_KINDS, e["ts"], -e["dur"]))
    for event in kept:
        event["args"] = {k: v for k, v in event["args"].items() if k not in _LEFT_OUT}
    devices = trace["deviceProperties"]
    devices[0]["name"] = devices[0]["name"].removesuffix(" (modelled)")
    return {"schemaVersion": 1, "deviceProperties": devices, "traceEvents": kept}


def main() -> None:
    """Record the step and put it beside this file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        record(path)
        trace = json.loads(path.read_text("utf-8"))
    text = json.dumps(with_host_times(trace), separators=(",", ":"))
    RECORDED.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{RECORDED.name}: {len(RECORDED.read_bytes()):,} bytes")


if __name__ == "__main__":
    main()
