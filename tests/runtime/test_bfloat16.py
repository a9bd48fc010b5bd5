"""bfloat16, where `ml_dtypes` is installed."""

import io

import numpy as np
import pytest

import tidy.runtime as rt

pytest.importorskip("ml_dtypes")  # the name `bfloat16` is there without it, its use is refused
CALLS = """
x @ y
x * 2 + 1
x * 0.5
x.tanh()
x.sigmoid()
x.exp().sqrt()
x.softmax(1)
F.relu(x)
F.gelu(x)
F.silu(x)
F.layer_norm(x, (4,))
F.linear(x, y.t())
F.mse_loss(x, x * 2)
F.cross_entropy(x, i)
F.conv1d(x[None], w)
x + torch.ones(4)
x + torch.ones(())
x.float() * 2
x.half() + x
x.max(1)[0]
x.std()
x.norm()
torch.cat([x, x])
x.sum(0)
x.mean()
x.cumsum(1)
x[i] * x[0]
x.clamp(-1, 0.5)
""".split("\n")[1:-1]


def results(torch, code):
    stream = np.random.default_rng(5)
    x, y, w = (torch.tensor(stream.standard_normal(s)) for s in ((3, 4), (4, 2), (2, 3, 2)))
    x = x.to(torch.bfloat16).requires_grad_()
    names = {"torch": torch, "F": torch.nn.functional, "x": x, "y": y.to(torch.bfloat16)}
    names |= {"w": w.to(torch.bfloat16), "i": torch.tensor([2, 0, 1])}
    out = eval(code, names)  # noqa: S307
    out.sum().backward()
    kinds = [str(t.dtype).removeprefix("torch.") for t in (out, x.grad)]
    return [*kinds, out.detach().double().numpy(), x.grad.double().numpy()]


@pytest.mark.oracle
@pytest.mark.parametrize("code", CALLS)
def test_as_pytorch(code):
    torch = pytest.importorskip("torch")
    ours, theirs = results(rt, code), results(torch, code)
    assert ours[:2] == theirs[:2]
    for a, b in zip(ours[2:], theirs[2:], strict=True):
        np.testing.assert_allclose(a, b, rtol=0.05, atol=0.05)  # 8 bits, rounded at other places


def test_saved_states_come_back_with_their_memory():
    model, file = rt.nn.Linear(2, 3).to(rt.bfloat16), io.BytesIO()
    whole = rt.arange(6).to(rt.bfloat16).view(2, 3)
    given = {"model": model.state_dict(), "dtype": rt.bfloat16, "whole": whole, "part": whole.T[1:]}
    rt.save(given, file)
    found = rt.load(file)
    assert found["dtype"] == found["part"].dtype == rt.bfloat16
    assert rt.equal(found["whole"], whole)
    found["whole"].zero_()
    assert found["part"].shape == (2, 2)
    assert not found["part"].any()
    for name, tensor in model.state_dict().items():
        assert rt.equal(found["model"][name], tensor)


def test_autocast_computes_products_in_bfloat16():
    with rt.autocast("cpu"):
        assert (rt.ones(2, 2) @ rt.ones(2, 2)).dtype == rt.bfloat16
        assert (rt.ones(2, 2) + 1).dtype == rt.float32
