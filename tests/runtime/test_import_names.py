"""Names that an import must not hide."""

import importlib
import subprocess
import sys

import tidy.runtime as rt

NAMES = """
import tidy.runtime as torch
import tidy.runtime.utils as below
from tidy.runtime.autograd.gradcheck import GradcheckError
from tidy.runtime.autograd.function import once_differentiable
from tidy.runtime.utils.checkpoint import *
assert below.checkpoint.checkpoint is checkpoint
assert below.data.DataLoader is torch.utils.data.DataLoader
assert below.checkpoint.checkpoint is torch.utils.checkpoint.checkpoint
assert torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=float).requires_grad_())
assert torch.autograd.gradgradcheck.__name__ == "gradgradcheck"
"""


def test_an_import_hides_no_function():
    subprocess.run([sys.executable, "-c", NAMES], check=True)


def test_gradcheck_stays_a_function():
    importlib.import_module("tidy.runtime.autograd.gradcheck")
    assert callable(rt.autograd.gradcheck)
