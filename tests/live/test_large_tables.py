"""Gradients of large embeddings, as PyTorch records them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy

from .pytorch_look_alikes import TABLE
from .scripts import recorded_by_pytorch

pytestmark = [pytest.mark.oracle, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("options", ["", ", sparse=True"])
@pytest.mark.parametrize("is_bag", [False, True])
def test_it_is_found_where_rows_are_looked_up(options: str, is_bag: bool, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = TABLE.format(rows=200_000, options=options, count=32, more="pass")
    if is_bag:
        script = script.replace("nn.Embedding(", "nn.EmbeddingBag(").replace(" + step)", ", OF)")
        script = script.replace("OF", "torch.arange(0, 32, 4)")
    (tmp_path / "script.py").write_text(script, "utf-8")
    trace = recorded_by_pytorch(tmp_path / "script.py", tmp_path / "trace.json")
    found = [each for each in tidy.check(trace, select=["TDY605"]).findings if each.in_window]
    if options:
        assert found == []
        return
    (finding,) = found
    assert "200,000 rows, of which 32 were looked up" in finding.message
    assert finding.location is not None
    assert finding.location.function == "<module>"
    assert finding.saving is not None
