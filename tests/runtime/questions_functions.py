"""Questions about torch.func and autograd.functional, and modules called with other parameters."""
# ruff: noqa: ARG005

import numpy as np

from .observed import raised
from .tables import functions_of

# ruff: noqa: ARG005  (lambdas have the arguments they have)


def _tensors(lib):
    stream = np.random.default_rng(8)
    return lambda *shape: lib.tensor(stream.standard_normal(shape))


class _Filled:
    """Two layers with a norm between, in float64, with weights that are the same everywhere."""

    def __new__(cls, lib):
        nn = lib.nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.norm = nn.Linear(3, 4), nn.Linear(4, 2), nn.BatchNorm1d(4)

            def forward(self, x):
                return self.b(self.norm(self.a(x)).relu())

        net = Net().double()
        with lib.no_grad():
            for i, p in enumerate(net.parameters()):
                p.copy_(lib.tensor(np.sin(np.arange(p.numel()) + i)).reshape(p.shape))
        return net


def gradients_of_functions(lib):
    func, t = lib.func, _tensors(lib)
    x, y, w = t(3), t(3), t(4, 3)

    def f(x, y):
        return (x.sin() * y).sum()

    yield func.grad(f)(x, y), func.grad(f, argnums=(0, 1))(x, y), func.grad_and_value(f)(x, y)
    twice = func.grad(lambda x: func.grad(lambda z: (z**3).sum())(x).sum())(x)
    yield twice, twice.requires_grad
    learned = x.clone().requires_grad_()
    for found in (func.grad(f)(learned, y), func.grad(f)(x, learned), func.grad(f)(x, y)):
        yield found, found.requires_grad
    with lib.no_grad():
        yield func.grad(f)(learned, y), func.grad(f)(learned, y).requires_grad
    func.grad(f)(learned, y).sum().backward()
    yield learned.grad
    found, aux = func.grad(lambda x: (x.sum() * 2, x * 3), has_aux=True)(x)
    yield found, aux
    yield func.jacrev(lambda x: w @ x)(x), func.jacrev(lambda x: (w @ x).tanh())(x)
    yield func.hessian(lambda x: (w @ x).tanh().sum())(x)
    both = func.jacrev(lambda d: {"a": d["x"] * 2, "b": d["y"].sum()})({"x": x, "y": y})
    yield both["a"]["x"], both["a"]["y"], both["b"]["y"]
    wrong = (
        lambda: func.grad(lambda a: a)(x), lambda: func.grad(lambda a: 1.0)(x),
        lambda: func.grad(lambda a: a.sum(), argnums=2)(x),
        lambda: func.grad(lambda a: a.sum())(lib.tensor([1, 2])),
        lambda: func.grad(lambda a: a.sum())(3.0),
        lambda: func.grad(lambda a: a.sum(), has_aux=True)(x), lambda: func.jacrev(lambda a: 3)(x),
    )  # fmt: skip
    yield [raised(call) for call in wrong]


def batches_of_functions(lib):
    func, t, vmap = lib.func, _tensors(lib), lib.vmap
    x, y = t(5, 3), t(5, 3)
    yield vmap(lib.dot)(x, y), vmap(lambda a, b: a * b, in_dims=(0, None))(x, y[0])
    yield vmap(lambda a: (a.sum(), a * 2), out_dims=(0, 1))(x)
    yield vmap(func.grad(lambda a, b: (a.sin() * b).sum()), in_dims=(0, None))(x, y[0])
    inner = vmap(lambda a, b: a @ b, in_dims=(None, 1))
    yield vmap(inner, in_dims=(0, None))(x, t(3, 2))
    yield vmap(lambda d: d["a"] + d["b"], in_dims=({"a": 0, "b": None},))({"a": x, "b": y[0]})
    yield vmap(lambda a, scale=None: a * scale)(lib.ones(3), scale=lib.ones(3))
    yield vmap(lambda a: a.sum())(lib.zeros(0, 3)).shape[0]
    learned = x.clone().requires_grad_()
    vmap(lambda a: a.square().sum())(learned).sum().backward()
    yield learned.grad
    wrong = (
        lambda: vmap(lambda a: a)(3.0), lambda: vmap(lambda a, b: a)(t(2), t(3)),
        lambda: vmap(lambda a: 1)(t(2)), lambda: vmap(lambda a: a, in_dims=3)(t(2)),
        lambda: vmap(lambda a: a, in_dims=(0, 0))(t(2)),
        lambda: vmap(lambda a: a, in_dims=None)(t(2)),
        lambda: vmap(lambda a: a, in_dims=(None,))(t(2)),
        lambda: vmap(lambda a: a, randomness="x")(t(2)),
        lambda: vmap(lambda a: a, out_dims=(0, 0))(t(2)),
    )  # fmt: skip
    yield [raised(call) for call in wrong]


def modules_with_other_parameters(lib):
    func, t, net = lib.func, _tensors(lib), _Filled(lib)
    x = t(5, 3)
    twice = {name: p.detach() * 2 for name, p in net.named_parameters()}
    buffers = {name: b.clone() for name, b in net.named_buffers()}
    yield func.functional_call(net, (twice, buffers), (x,)), buffers["norm.num_batches_tracked"]
    yield net.norm.num_batches_tracked, net(x)
    net.eval()
    yield func.functional_call(net, twice, x), func.functional_call(net, {}, (x,))

    def loss(given, x):
        return func.functional_call(net, given, (x,)).square().sum()

    found = func.grad(loss)(twice, x)
    yield [[name, found[name]] for name in sorted(found)]
    each = lib.vmap(func.grad(loss), in_dims=(None, 0))(twice, t(2, 4, 3))
    yield each["a.weight"]
    params, buffers = func.stack_module_state([net, net])
    yield params["a.weight"], params["a.weight"].requires_grad, sorted(buffers)
    call = lib.vmap(lambda p, b, x: func.functional_call(net, (p, b), (x,)))
    yield call(params, buffers, t(2, 5, 3))
    net.b.bias = net.norm.bias = lib.nn.Parameter(lib.ones(2).double())
    wrong = (
        lambda: func.functional_call(net, 3, x),
        lambda: func.functional_call(net, (twice, twice), x),
        lambda: func.functional_call(net, twice, (x,), strict=True),
        lambda: func.functional_call(net, {"b.bias": t(2), "norm.bias": t(2)}, (x,)),
        lambda: func.stack_module_state([]),
        lambda: func.stack_module_state([net, lib.nn.Linear(1, 1)]),
    )
    yield [raised(call) for call in wrong]


def registries_replaced(lib):
    """Modules copied as meta-learning libraries do: a dict in place of the parameters'."""
    net, x = _Filled(lib).eval(), _tensors(lib)(2, 3)

    def cloned(module):
        made = module.__new__(type(module))
        made.__dict__ = module.__dict__.copy()
        made._parameters = {k: p * 2 for k, p in module._parameters.items()}
        made._modules = {k: cloned(m) for k, m in module._modules.items()}
        return made

    other = cloned(net)
    yield other(x), net(x), [name for name, _ in other.named_parameters()]
    other(x).sum().backward()
    yield [p.grad for p in net.parameters()]
    other.a._parameters["weight"] = net.a.weight * 3
    yield other(x), other.a.weight
    yield raised(lambda: other.a.nothing)


SCRIPTS = functions_of(globals(), "(lib)")


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
    "to a pair": (lambda x: (x.sum(), x.sum()), (X,)),
}


def outcome(t, question):
    """What a call gives, or the class of its error; with create_graph, a derivative of that too."""
    kind, name, grad, options = question
    function, values = FUNCTIONS[name]
    inputs = tuple(t.tensor(x, dtype=t.float64, requires_grad=True) for x in values)
    given = inputs if len(inputs) > 1 else inputs[0]
    try:
        with t.set_grad_enabled(grad):
            found = getattr(t.autograd.functional, kind)(function, given, **options)
        flat = [found]
        while any(isinstance(x, tuple) for x in flat):
            flat = [y for x in flat for y in (x if isinstance(x, tuple) else (x,))]
        result = [type(found).__name__, found, [x.requires_grad for x in flat]]
        total = sum((x * x).sum() for x in flat)
        if total.requires_grad:
            again = t.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True)
            result.append(again)
        return result
    except (RuntimeError, TypeError, NotImplementedError) as error:
        return type(error).__name__


OPTIONS = [{}, {"create_graph": True}]
DERIVATIVES = {
    f"{kind}, {name}, {options}{'' if grad else ', no_grad'}": (kind, name, grad, options)
    for kind in ("jacobian", "hessian")
    for name in FUNCTIONS
    for options in OPTIONS
    for grad in ((True, False) if options == {} else (True,))
}
