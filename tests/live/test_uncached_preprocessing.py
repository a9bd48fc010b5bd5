"""TDY105 names the function that prepares items anew each time, on live runs of both frameworks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..cli.command import tidy

_SCRIPT = """\
import torch
from torch.utils.data import DataLoader, Dataset

def tokenize(text):
    return [sum(ord(letter) * n for n, letter in enumerate(word)) % 97 for word in text.split()]

class Lines(Dataset):
    def __init__(self):
        self.lines = ["the quick brown fox jumps over the lazy dog " * 20] * 48
        {before}

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        return torch.tensor({item}, dtype=torch.float32)

loader = DataLoader(Lines(), batch_size=4{collate})
weight = torch.ones(180, 4, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.001)
for batch in loader:
    optimizer.zero_grad()
    (batch @ weight).sum().backward()
    optimizer.step()
"""
_TOKENS = "tokenize(self.lines[index])"
_STORED = "self.tokens = [tokenize(line) for line in self.lines]"
_AUGMENTED = """\
def augment(items):
    import random
    return torch.stack([each[random.sample(range(180), 180)] for each in items])

loader ="""

each_framework = pytest.mark.parametrize(
    "framework", ["runtime", pytest.param("torch", marks=pytest.mark.oracle)]
)


def _found(script: str, framework: str, folder: Path) -> list[tuple[str, int]]:
    """The places that TDY105 names in a script."""
    if framework == "torch":
        pytest.importorskip("torch")
    (folder / "script.py").write_text(script, "utf-8")
    options = ("--framework", framework, "--select", "TDY105", "--format", "json")
    done = tidy("run", *options, "script.py", cwd=folder)
    (report,) = json.loads(done.out)["traces"]
    places = [each["location"] for each in report["findings"]]
    return [(each["file"], each["line"]) for each in places]


@each_framework
def test_tokens_that_are_made_each_time(framework: str, tmp_path: Path) -> None:
    script = _SCRIPT.format(before="pass", item=_TOKENS, collate="")
    assert _found(script, framework, tmp_path) == [("script.py", 4)]


@each_framework
@pytest.mark.parametrize("collate", ["", ", collate_fn=augment"])
def test_quiet_where_they_are_stored(framework: str, collate: str, tmp_path: Path) -> None:
    """What is random is new each time: there is nothing to store."""
    script = _SCRIPT.format(before=_STORED, item="self.tokens[index]", collate=collate)
    assert not _found(script.replace("loader =", _AUGMENTED), framework, tmp_path)
