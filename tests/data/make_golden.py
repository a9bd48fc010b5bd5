"""Ask PyTorch what the runtime is asked, and write its answers to tests/data/golden.

    python -m tests.data.make_golden

at the top of a checkout, with PyTorch 2.13 for the CPU. The questions are in
tests/runtime/questions.py; the plain suite compares the runtime's answers with these files, and an
oracle test compares these files with the PyTorch that is installed.
"""

from __future__ import annotations

import sys
import warnings

import torch

from ..runtime import answers
from ..runtime.questions import GROUPS

VERSION = "2.13."


def main() -> str | None:
    if not torch.__version__.startswith(VERSION):
        return f"the answers are those of PyTorch {VERSION}x, not of {torch.__version__}"
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for group in GROUPS:
        answers.write(group.name, group.answers(torch))
    return None


if __name__ == "__main__":
    sys.exit(main())
