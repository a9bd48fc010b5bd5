"""Loops to record, for PyTorch and for tidy.runtime alike."""

from __future__ import annotations

import re
from textwrap import dedent

# `{torch}` is the module; lines that a rule has to name say so.
TRAINING = """
import sys, threading
import {torch} as torch
nn = torch.nn
model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), foreach=False)
def step():
    optimizer.zero_grad(set_to_none=False)  #! TDY603
    t = torch.zeros(24)
    for i in range(24):
        t[i] = i  #! TDY404
    loss = model(torch.ones(8, 16)).sum()
    loss.backward()
    optimizer.step()  #! TDY601
"""


def script(framework: str, *parts: str) -> str:
    """A script that trains with `torch` or `tidy.runtime`."""
    text = "".join(dedent(part) for part in (TRAINING, *parts))
    return text.replace("{torch}", framework).replace("import torch as torch", "import torch")


def named_lines(text: str) -> set[tuple[str, int]]:
    """(code, line) of each line of a script that says what is wrong with it."""
    lines = enumerate(text.splitlines(), 1)
    return {(match[1], number) for number, line in lines if (match := re.search("#! (.+)", line))}
