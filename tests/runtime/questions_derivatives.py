"""Questions about autograd.functional: derivatives, their shapes, nesting and errors."""

# ruff: noqa: ARG005  (lambdas have the arguments they have)

import numpy as np

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
