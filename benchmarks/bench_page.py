"""The page: what writing takes of reading, how large it is, and how a browser keeps up.

    python benchmarks/bench_page.py trace.json... [page.html...] [--browser]

Writing is timed in the process that has read and checked the trace, in seconds of the processor.
With --browser (needs `pip install '.[browser]'` and chromium on the PATH) it is opened, and its
timeline moved by 200 steps, with software rendering; times are the machine's. A page that is there
already, such as one of `tidy diff` or of several ranks, is only opened.
"""

from __future__ import annotations

import argparse
import gc
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# Moves the timeline in each frame; gives frames a second, and the longest of 95 % of them.
_PAN = """async () => {
  const canvas = document.querySelector("canvas.slices"), times = [];
  let last = performance.now();
  for (let frame = 0; frame < 200; frame++) {
    canvas.dispatchEvent(new KeyboardEvent("keydown", { key: frame % 100 < 50 ? "d" : "a" }));
    await new Promise((done) => requestAnimationFrame(done));
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  const sum = times.reduce((one, other) => one + other);
  return [200000 / sum, times.sort((one, other) => one - other)[190]];
}"""


def peak_mib() -> float:
    """The most memory that this process had."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def written(trace: Path) -> str:
    """Write the page of a trace, and print what that takes."""
    import tidy
    from tidy.page.document import report_to_html

    started = time.process_time()
    loaded = tidy.load(trace)
    reading_s = time.process_time() - started
    report = tidy.check(loaded)
    _ = report.findings, report.accounts, report.summary
    before_mib = peak_mib()
    started = time.process_time()
    page = report_to_html(report)
    writing_s = time.process_time() - started
    more = peak_mib() / before_mib - 1
    print(
        f"{trace.name}: {trace.stat().st_size / 1e6:.0f} MB, {len(loaded):,} events;"
        f" reading {reading_s:.2f} s, the page {writing_s / reading_s:.2f} of it, memory"
        f" {before_mib:.0f} MiB + {more:.2f}; {len(page) / 1e6:.2f} MB"
    )
    return page


def opened(page: Path) -> None:
    """Open the page in a browser, and print when it is there and how it moves."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if program is None:
        sys.exit("no chromium on the PATH")
    with sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        tab = browser.new_page(viewport={"width": 1440, "height": 900})
        started = time.perf_counter()
        tab.goto(page.as_uri())
        tab.wait_for_selector("canvas.slices")
        usable_s = time.perf_counter() - started
        paints: list[dict[str, Any]] = tab.evaluate(
            "performance.getEntriesByType('paint').map((each) => each.toJSON())"
        )
        tab.locator("canvas.slices").first.focus()
        for _ in range(3):
            tab.keyboard.press("w")
        rate, slow_ms = tab.evaluate(_PAN)
        heap_mib = tab.evaluate("performance.memory.usedJSHeapSize") / (1 << 20)
        print(
            f"  first paint {paints[0]['startTime']:.0f} ms, usable {usable_s:.2f} s,"
            f" {rate:.0f} frames a second (95 % within {slow_ms:.0f} ms), heap {heap_mib:.0f} MiB"
        )
        browser.close()


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("traces", type=Path, nargs="+")
    parser.add_argument("--browser", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for trace in options.traces:
            page = trace
            if trace.suffix == ".html":
                print(f"{trace.name}: {trace.stat().st_size / 1e6:.2f} MB")
            else:
                page = Path(folder, "page.html")
                page.write_text(written(trace), "utf-8")
            gc.collect()
            if options.browser:
                opened(page.resolve())


if __name__ == "__main__":
    main()
