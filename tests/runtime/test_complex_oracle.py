"""Samples on complex inputs: values, gradients and second gradients as PyTorch's."""

import numpy as np
import pytest

import tidy.runtime as rt

from .samples import SAMPLES, arrays, evaluate
from .samples_in_place import IN_PLACE

pytestmark = pytest.mark.oracle
NOT_HERE = {"torch.logaddexp(x, y)"}  # numpy has none of complex numbers
EVERY = [s for s in (*SAMPLES, *IN_PLACE) if s.code not in NOT_HERE]


def run(lib, sample):
    """Value, gradients and second gradients as arrays."""
    stream = np.random.default_rng(9)
    tensors = [
        lib.tensor(a + 1j * stream.uniform(sample.lo, sample.hi, a.shape), requires_grad=True)
        for a in arrays(sample)
    ]
    out = evaluate(lib, sample, tensors)
    weight = lib.tensor(np.exp(1j * np.arange(out.numel())).reshape(tuple(out.shape)))
    total = (out * weight).real.sum()
    more = {"materialize_grads": True}
    grads = lib.autograd.grad(total, tensors, create_graph=True, **more)
    found = [out, *grads]
    length = sum((g * g.conj()).real.sum() for g in grads)
    if sample.twice and length.requires_grad:
        found += lib.autograd.grad(length, tensors, **more)
    return [f.detach().resolve_conj().numpy() for f in found]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", EVERY, ids=[f"{n}-{s.code[:40]}" for n, s in enumerate(EVERY)])
def test_as_pytorch(sample):
    torch = pytest.importorskip("torch")
    try:
        theirs = run(torch, sample)
    except (RuntimeError, TypeError, ValueError):
        return  # dtype_deviations.py has what is here and not there
    ours = run(rt, sample)
    for a, b in zip(ours, theirs, strict=False):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=max(sample.rtol, 1e-8), atol=1e-10)
    for rest in (*ours[len(theirs) :], *theirs[len(ours) :]):
        assert not rest.any()
