"""Times of single ops as they were recorded, and as their rule says to write them instead.

    python micro.py torch|tidy.runtime CASES.json

It runs with the Python of the script, where only the framework is known to be installed. CASES is a
list of {"code", "shapes", "dtype"}; the output is a list of [wrong_ns, corrected_ns], or null where
a case cannot be made here. An op is timed until the device is done, as the median of rounds.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

_ALIGNMENT = 8

Pair = tuple[Callable[[], Any], Callable[[], Any]]


class Bench:
    """Times ops of one framework on its device, or on the CPU where it has none."""

    def __init__(self, name: str) -> None:
        self.torch: Any = import_module(name)
        has_device = self.torch.cuda.is_available()
        self.device = "cuda" if has_device else "cpu"
        self._wait: Callable[[], None] = self.torch.cuda.synchronize if has_device else lambda: None
        self._now_ns: Callable[[], int] = time.perf_counter_ns
        self._rounds, self._repeats = 9, 20
        if name == "tidy.runtime":  # its devices have a clock of their own, and little noise
            self._now_ns = import_module("tidy.runtime.modelled.clock").now_ns
            self._rounds, self._repeats = 3, 4

    def time_ns(self, op: Callable[[], Any]) -> int:
        """Measure the median time of one call."""
        for _ in range(3):
            op()
        self._wait()
        rounds = []
        for _ in range(self._rounds):
            start_ns = self._now_ns()
            for _ in range(self._repeats):
                op()
            self._wait()
            rounds.append((self._now_ns() - start_ns) // self._repeats)
        return round(statistics.median(rounds))

    def tensor(self, shape: list[int], dtype: str) -> Any:
        kind = {"c10::Half": "float16", "c10::BFloat16": "bfloat16"}.get(dtype, "float32")
        return self.torch.ones(shape, device=self.device, dtype=getattr(self.torch, kind))


def extra_copy(bench: Bench, case: dict[str, Any]) -> Pair:
    """TDY201: fill on the CPU and move, or fill where it is used."""
    shape, torch, device = case["shapes"][0], bench.torch, bench.device
    return lambda: torch.zeros(shape).to(device), lambda: torch.zeros(shape, device=device)


def fp32_product(bench: Bench, case: dict[str, Any]) -> Pair:
    """TDY501: a product of float32 as it is, or with TF32 allowed."""
    product, torch = _product(bench, case), bench.torch

    def with_tf32() -> Any:
        torch.set_float32_matmul_precision("high")
        made = product()
        torch.set_float32_matmul_precision("highest")
        return made

    return product, with_tf32


def misaligned_product(bench: Bench, case: dict[str, Any]) -> Pair:
    """TDY503: a product as it is, or with each dimension rounded up to a multiple of 8."""
    rounded = [[-(-size // _ALIGNMENT) * _ALIGNMENT for size in shape] for shape in case["shapes"]]
    return _product(bench, case), _product(bench, {**case, "shapes": rounded})


def _product(bench: Bench, case: dict[str, Any]) -> Callable[[], Any]:
    left, right = (bench.tensor(shape, case["dtype"]) for shape in case["shapes"])
    return lambda: bench.torch.matmul(left, right)


_PAIRS: dict[str, Callable[[Bench, dict[str, Any]], Pair]] = {
    "TDY201": extra_copy,
    "TDY501": fp32_product,
    "TDY503": misaligned_product,
}


def main(name: str, path: str) -> None:
    bench = Bench(name)
    cases = json.loads(Path(path).read_text("utf-8"))
    times: list[list[int] | None] = [None] * len(cases)
    for number, case in enumerate(cases):
        with contextlib.suppress(RuntimeError, TypeError, ValueError):
            times[number] = [bench.time_ns(op) for op in _PAIRS[case["code"]](bench, case)]
    sys.stdout.write(f"{json.dumps(times)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
