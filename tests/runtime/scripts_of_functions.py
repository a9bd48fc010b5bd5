"""More scripts: what a Function may be made of, and what its backward may return."""

# ruff: noqa: ARG005  (hooks and Functions have the arguments they have)

from .observed import raised
from .scripts import error, leaf


def function_of(torch, forward, backward, setup_context=None):
    """A Function made of functions, any of which may be None."""
    members = {"forward": forward, "backward": backward, "setup_context": setup_context}
    methods = {name: staticmethod(method) for name, method in members.items() if method}
    return type("Made", (torch.autograd.Function,), methods)


def functions_with_wrong_gradients(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)

    def run(backward, *inputs):
        made = function_of(torch, lambda ctx, *args: args[0] * 2, backward)
        made.apply(*inputs).sum().backward()

    shape, count = "returned an invalid gradient at index 0", "an incorrect number of gradients"
    return (
        error(lambda: run(lambda ctx, g: torch.ones(3).double(), x), shape),
        error(lambda: run(lambda ctx, g: (g, g), x, 2), ""),
        error(lambda: run(lambda ctx, g: 3.0, x), ""),
        error(lambda: run(lambda ctx, g: g, x, y), f"{count} (expected 2, got 1)"),
        error(lambda: run(lambda ctx, g: (g, None, g), x, 2), "(expected 2, got 3)"),
    )  # fmt: skip


def functions_with_gradients_that_fit(torch):
    """None at the end is left out, dtypes are converted, and what was broadcast is summed."""
    x, half = leaf(torch, 1.0, 2.0), torch.ones(2, dtype=torch.float16, requires_grad=True)

    def run(backward, forward, *inputs):
        function_of(torch, forward, backward).apply(*inputs).sum().backward()

    run(lambda ctx, g: (g, None, None, None), lambda ctx, a: a * 2, x)
    run(lambda ctx, g: g * 2.5, lambda ctx, a: a.double(), half)
    run(lambda ctx, g: torch.ones(3, 2).double(), lambda ctx, a: a * 2, x)
    run(lambda ctx, g: None, lambda ctx, a: a * 2, x)
    return x.grad.tolist(), half.grad.tolist(), half.grad.dtype == torch.float16


def functions_without_parts(torch):
    x, none = leaf(torch, 1.0), function_of(torch, None, None)
    forward = function_of(torch, lambda ctx, a: a * 2, None)
    return (
        raised(lambda: none.apply(x)),
        raised(lambda: forward.apply(x).sum().backward()),
    )


def functions_with_setup_context(torch):
    def setup_context(ctx, inputs, output):
        x, ctx.factor = inputs
        ctx.save_for_backward(x, None)

    def backward(ctx, grad, other):
        x, nothing = ctx.saved_tensors
        return grad * ctx.factor + 0 * x, nothing

    x = leaf(torch, 1.0, 2.0)
    made = function_of(torch, lambda x, factor: (x * factor, [1, 2]), backward, setup_context)
    y, plain = made.apply(x, 3.0)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return (
        plain,
        x.grad.tolist(),
        error(lambda: y.sum().backward(), "backward through the graph a second time"),
        y.grad_fn.name(),
    )


def functions_that_return_their_input(torch):
    same = function_of(torch, lambda ctx, x: x, lambda ctx, g: g * 3)
    view = function_of(torch, lambda ctx, x: x.view(-1), lambda ctx, g: g.reshape(1, 2) * 5)
    x = leaf(torch, 1.0, 2.0)
    out = same.apply(x)
    out.sum().backward()
    w = torch.ones(1, 2, dtype=torch.float64, requires_grad=True)
    flat = view.apply(w * 1)
    flat.sum().backward()
    with torch.no_grad():
        alone = same.apply(x)
        alone.mul_(2)
    return (
        out is x, x.grad.tolist(), w.grad.tolist(), flat.tolist(), alone.requires_grad, x.tolist(),
        x._version == alone._version,
    )  # fmt: skip


def once_differentiable_twice(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

    x, w, once = leaf(torch, 3.0), leaf(torch, 2.0), function_of(torch, forward, backward)
    (g,) = torch.autograd.grad((once.apply(x) * w).sum(), x, create_graph=True)
    plain = torch.autograd.grad(once.apply(x).sum(), x)[0]
    return (
        g.tolist(), g.requires_grad, error(g.sum().backward, "once_differentiable"), plain.tolist(),
    )  # fmt: skip


def functions_with_outputs_that_are_no_tensors(torch):
    """What backward is given for outputs that are no tensors, and setup_context for defaults."""
    seen = []

    def shapes(ctx, *grads):
        seen.append([None if g is None else [*g.shape] for g in grads])
        return grads[0] * 2

    pair = function_of(torch, lambda ctx, x: (x * 2, "a word", x.long(), None), shapes)

    def note(ctx, inputs, output):
        seen.append([len(inputs), *inputs[1:], [*output.shape]])
        ctx.factor = inputs[1]

    def scaled(x, factor=3.0, shift=1):
        return x * factor + shift

    scaled = function_of(torch, scaled, lambda ctx, g: (g * ctx.factor, None, None), note)

    def half(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, 5, x * 3

    def missing(ctx, *grads):
        seen.append([g is None for g in grads])
        return grads[2]

    x = torch.ones(2, requires_grad=True)
    out = pair.apply(x)
    seen.append([type(o).__name__ for o in out])
    out[0].sum().backward()
    seen.append(x.grad.tolist())
    for args, kwargs in (((x,), {}), ((x, 5.0), {}), ((x,), {"shift": 2})):
        x.grad = None
        scaled.apply(*args, **kwargs).sum().backward()
        seen.append(x.grad.tolist())
    function_of(torch, half, missing).apply(x)[2].sum().backward()
    try:
        scaled.apply()
    except TypeError:
        seen.append("TypeError")
    return seen
