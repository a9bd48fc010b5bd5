"""autograd.functional: the same derivatives, shapes, nesting and errors as PyTorch's."""

# ruff: noqa: ARG005  (lambdas and Functions have the arguments they have)

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime.derivatives import functional as rt_functional

pytestmark = pytest.mark.filterwarnings("ignore")
X = np.array([[0.5, -1.0, 2.0], [1.5, 0.2, -0.3]])
Y = np.array([1.0, -0.5, 0.3])
FUNCTIONS = {
    "one to one": (lambda x: (x * x).sin(), (X,)),
    "to a number": (lambda x: (x * x * x).sum(), (X,)),
    "two to two": (lambda x, y: ((x * y).exp(), (x * y * y).sum(0)), (X, Y)),
    "two to a number": (lambda x, y: ((x * y).exp() * y).sum(), (X, Y)),
    "one unused": (lambda x, y: (x * x).sum(), (X, Y)),
    "linear": (lambda x, y: (x * 2).sum() + y.sum(), (X, Y)),
    "constant": (lambda x: x.detach() * 2, (X,)),
    "constant number": (lambda x: x.detach().sum(), (X,)),
    "number to number": (lambda x: x**3, (np.array(2.0),)),
}


def plain(found):
    """Numbers, in the same nesting."""
    if isinstance(found, tuple):
        return tuple(plain(x) for x in found)
    return found.detach().numpy()


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def outcome(t, functional, kind, name, **options):
    """What a call gives, or the class of its error; with create_graph, a derivative of that too."""
    function, values = FUNCTIONS[name]
    inputs = tuple(t.tensor(x, dtype=t.float64, requires_grad=True) for x in values)
    given = inputs if len(inputs) > 1 else inputs[0]
    try:
        found = getattr(functional, kind)(function, given, **options)
        result = [plain(found)]
        flat = [found]
        while any(isinstance(x, tuple) for x in flat):
            flat = [y for x in flat for y in (x if isinstance(x, tuple) else (x,))]
        result.append(tuple(np.array(float(x.requires_grad)) for x in flat))
        total = sum((x * x).sum() for x in flat)
        if total.requires_grad:
            again = t.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True)
            result.append(plain(tuple(again)))
        return tuple(result)
    except (RuntimeError, TypeError) as error:
        return type(error).__name__


@pytest.mark.oracle
@pytest.mark.parametrize(
    "options",
    [{}, {"create_graph": True}, {"strict": True}, {"create_graph": True, "strict": True}],
    ids=str,
)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", ["jacobian", "hessian"])
def test_as_pytorch(kind, name, options):
    torch = pytest.importorskip("torch")
    ours = outcome(rt, rt_functional, kind, name, **options)
    theirs = outcome(torch, torch.autograd.functional, kind, name, **options)
    if isinstance(theirs, str) or isinstance(ours, str):
        assert ours == theirs
    else:
        same(ours, theirs)


def test_shapes_and_nesting():
    x, y = rt.ones(2, 3), rt.ones(3)
    found = rt_functional.jacobian(lambda a, b: (a * b, b.sum()), (x, y))
    assert [[j.shape for j in row] for row in found] == [[(2, 3, 2, 3), (2, 3, 3)], [(2, 3), (3,)]]
    assert rt_functional.hessian(lambda a: (a * a).sum(), y).tolist() == (rt.eye(3) * 2).tolist()


def test_what_does_not_fit():
    with pytest.raises(RuntimeError):
        rt_functional.hessian(lambda x: (x.sum(), x.sum()), rt.ones(3))


def test_other_types():
    with pytest.raises(TypeError):
        rt_functional.jacobian(lambda x: 1.0, rt.ones(3))
    with pytest.raises(TypeError):
        rt_functional.jacobian(lambda x: x, [rt.ones(3)])
    with pytest.raises(NotImplementedError):
        rt_functional.jacobian(lambda x: x, rt.ones(3), strategy="forward-mode")


def test_under_no_grad():
    with rt.no_grad():
        found = rt_functional.jacobian(lambda x: x * x, rt.tensor([1.0, 2.0]))
    assert found.tolist() == [[2.0, 0.0], [0.0, 4.0]]
