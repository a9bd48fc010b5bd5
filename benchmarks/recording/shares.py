"""What part of a step its fetches and its optimizer take, timed by the script itself."""

import atexit
import json
import statistics
from pathlib import Path
from time import perf_counter_ns as now

_WARMUP = 3
_UNUSUAL = 2.0  # steps that are so many times longer than most are left out


def watch(optimizers, loader_class, path):
    """Write the shares to a file at the end; gives the loader class that is to be used.

    An optimizer's step is timed as the script calls it, with what the framework does around it.
    """
    part = {"fetch": 0, "optimizer": 0}
    steps, known, begun = [], [], [0]  # when the step began
    timed = set()  # classes

    def after_first(optimizer, *_):
        kind = type(optimizer)
        if kind not in timed:
            timed.add(kind)
            kind.step = timing(kind.step)

    def timing(step):
        def timed_step(self, *args, **kwargs):
            start = now()
            found = step(self, *args, **kwargs)
            end = now()
            part["optimizer"] += end - start
            known[:] = known or [self]
            if self is known[0]:
                if begun[0]:
                    steps.append((end - begun[0], part["fetch"], part["optimizer"]))
                begun[0] = now()
                part.update(fetch=0, optimizer=0)
            return found

        return timed_step

    class Timed(loader_class):
        def __iter__(self):
            batches = super().__iter__()
            while True:
                start = now()
                try:
                    batch = next(batches)
                except StopIteration:
                    return
                part["fetch"] += now() - start
                yield batch

    def write():
        rest = steps[_WARMUP:]
        if not rest:
            return
        longest = _UNUSUAL * statistics.median(each[0] for each in rest)
        whole, fetch, optimizer = map(sum, zip(*(e for e in rest if e[0] <= longest), strict=True))
        shares = {"fetch": fetch / whole, "optimizer": optimizer / whole}
        Path(path).write_text(json.dumps(shares), "utf-8")

    optimizers.register_optimizer_step_post_hook(after_first)
    atexit.register(write)
    return Timed
