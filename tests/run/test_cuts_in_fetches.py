"""Where a recording of the runtime is cut while a loader takes a batch."""

from __future__ import annotations

from pathlib import Path

from .running import record, write_script

_FETCHED = """
import time
import torch
from torch.utils.data import DataLoader

class Rows:
    rows = torch.ones(8, 4)

    def __len__(self):
        return 8

    def __getitem__(self, index):
        time.sleep(0.02)
        return self.rows[index] + 1

weight = torch.ones(4, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
for batch in DataLoader(Rows(), batch_size=8):
    (batch @ weight).sum().backward()
    optimizer.step()
"""


def test_a_loader_takes_its_batch_first(tmp_path: Path) -> None:
    """A piece is cut after 50 ms, which a fetch may have 200 ms more to end."""
    script = write_script(tmp_path, _FETCHED)
    trace = record("--framework", "runtime", "--warmup", "0", script, cwd=tmp_path).trace
    items = [trace.event(row) for row in trace.rows_named("aten::select").tolist()]
    assert len(items) == 8
    fetch = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    # On a busy machine a fetch takes longer than that.
    if items[-1].end_ns - items[0].start_ns < 200_000_000:
        assert all(fetch in {each.name for each in item.ancestors()} for item in items)
