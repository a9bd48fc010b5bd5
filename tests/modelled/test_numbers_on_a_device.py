"""On a device values and gradients are those of the CPU, bit for bit, and they are there."""

from __future__ import annotations

import gc
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime import cuda

from ..runtime.questions import GROUPS, Group
from ..runtime.samples import step
from ..runtime.test_ops import SAMPLES


class On:
    """`torch`, with what it makes on a device."""

    def __init__(self, device: str) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        found = getattr(rt, name)
        makes = name in "tensor zeros ones full eye arange".split()
        return partial(found, device=self._device) if makes else found


ON_DEVICE = [s for s in SAMPLES if ".cpu()" not in s.code and "type_as" not in s.code]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", ON_DEVICE, ids=lambda sample: sample.code[:40])
def test_each_operator(sample: Any) -> None:
    if cuda.is_available():
        cuda.configure(None)
    alone = step(rt, sample)
    cuda.configure("a100")
    there = step(On("cuda"), sample)
    for a, b in zip(alone, there, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert b.device == rt.device("cuda", 0)
            assert b.is_cuda
            assert not b.is_cpu
            np.testing.assert_array_equal(a.numpy(force=True), b.numpy(force=True))
            assert (a.dtype, a.stride()) == (b.dtype, b.stride())


ASKED = "scripts averages clipped complex_parameters sparse derivatives checkpoints".split()
GROUPS_ASKED = [group for group in GROUPS if group.name in ASKED]
GROUPS_ASKED += [  # a search takes a second
    replace(group, questions={"few evaluations": group.questions["few evaluations"]})
    for group in GROUPS
    if group.name == "lbfgs"
]
# They make modules, which are on the host, or look at its memory.
NOT_THERE = {
    "norms_that_stop_tracking",
    "functions_of_numpy",
    "memory_of_tensors",
    "penalty_on_gradients_of_relus",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", GROUPS_ASKED, ids=lambda g: g.name)
def test_what_pytorch_is_asked(group: Group) -> None:
    """Scripts of the engine, searches, averages and derivatives, where tensors are made there."""
    cuda.configure("a100")
    found = group.differences(group.answers(On("cuda")), group.answers(On("cpu")))
    assert found.keys() == NOT_THERE & group.questions.keys()
    gc.collect()  # what a script has caught holds its frames
