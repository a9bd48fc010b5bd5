"""More scripts: in-place operators, Functions, threads, what runs in which order."""

# ruff: noqa: ARG005, RUF059  (hooks and Functions have the arguments they have)

import threading

from .scripts import error, leaf
from .scripts_of_functions import function_of


def inplace_on_view(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    y = x * 2
    v, w = y[1:], y[:2]
    v.mul_(10)
    v += x[0]
    (y * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)).sum().backward(retain_graph=True)
    first = x.grad.tolist()
    x.grad = None
    w.sum().backward()
    return first, x.grad.tolist(), y.grad_fn.name(), v._base is y


def inplace_on_view_of_plain_base(torch):
    x, base = leaf(torch, 5.0), torch.zeros(3, dtype=torch.float64)
    before = base[:2]
    base[1] = x[0] * 2
    base[2:].copy_(x)
    (base * base).sum().backward()
    return x.grad.tolist(), base.requires_grad, before.requires_grad


def assignment(torch):
    x, w = torch.zeros(3, 4, dtype=torch.float64), leaf(torch, 1.0, 2.0, 3.0, 4.0)
    y = x * 1
    y[1] = w * 2
    y[:, 0] = 7
    y[[0, 2], [1, 3]] = w[:2]
    (y * y).sum().backward()
    return w.grad.tolist(), y.tolist()


def inplace_double_backward(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * x
    y[0].mul_(x[1])
    (g,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((g * g).sum(), x)
    return g.tolist(), h.tolist()


def forbidden_inplace(torch):
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 1
    a, _ = y.unbind(0)
    with torch.no_grad():
        v = y[0]
    return error(lambda: a.add_(1), "is a view and is being modified inplace"), error(
        lambda: v.add_(1), "view was created in no_grad mode"
    )


def modes_of_other_threads(torch):
    torch.set_grad_enabled(False)
    other = []
    thread = threading.Thread(target=lambda: other.append(torch.is_grad_enabled()))
    thread.start()
    thread.join()
    torch.set_grad_enabled(True)
    return other


def custom_function(torch):
    def forward(ctx, x, power):
        ctx.save_for_backward(x)
        ctx.power = power
        return x**power

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.power * x ** (ctx.power - 1), None

    x = leaf(torch, 2.0, 3.0)
    y = function_of(torch, forward, backward).apply(x, 3)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return y.tolist(), g.tolist(), h.tolist(), y.grad_fn.name()


def custom_function_details(torch):
    seen = []

    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        index = (x * 0).long()
        ctx.mark_non_differentiable(index)
        return x * 1, y * 2, index

    def backward(ctx, a, b, c):
        seen.append((ctx.needs_input_grad, a is None, b is None))
        return a, b * 2 if b is not None else None

    def tripled(ctx, x):
        ctx.mark_dirty(x.mul_(3))
        return x

    inplace = function_of(torch, tripled, lambda ctx, g: g * 3)
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    a, b, c = function_of(torch, forward, backward).apply(x, y)
    b.sum().backward()
    h = x * 1
    out = inplace.apply(h)
    out.sum().backward()
    return (
        seen, c.requires_grad, None if x.grad is None else x.grad.tolist(), y.grad.tolist(),
        out is h,
    )  # fmt: skip


def trimming(torch):
    ran = []

    def backward(ctx, g):
        ran.append(ctx.needs_input_grad)
        return g, g

    x, y, z = leaf(torch, 1.0), leaf(torch, 2.0), leaf(torch, 3.0)
    both = function_of(torch, lambda ctx, x, y: x * y, backward)
    out = both.apply(x * 1, y * 1) * z
    torch.autograd.grad(out.sum(), x, retain_graph=True)
    torch.autograd.grad(out.sum(), z, retain_graph=True)
    out.sum().backward(inputs=[y], retain_graph=True)
    out.sum().backward()
    return ran, y.grad.tolist()


def reentrant(torch):
    depth = []

    def forward(ctx, x):
        ctx.x = x.detach().requires_grad_()
        return x.detach()

    def backward(ctx, g):
        depth.append(1)
        if len(depth) < 150:
            with torch.enable_grad():
                deep.apply(ctx.x).sum().backward()
        return g

    x, deep = leaf(torch, 1.0), function_of(torch, forward, backward)
    deep.apply(x).sum().backward()
    return len(depth), x.grad.tolist()


def threads(torch):
    x = leaf(torch, 1.0, 2.0)

    def work():
        for _ in range(20):
            (x * 2).sum().backward()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    return x.grad.tolist()


def sequence_numbers(torch):
    x, w = leaf(torch, 1.0), leaf(torch, 2.0)
    a = x * 2
    b, d = a + 1, x * 3
    c, order = b.exp(), []
    for name, t in (("a", a), ("b", b), ("c", c), ("d", d)):
        t.register_hook(lambda g, name=name: order.append(name))
    for name, t in (("x", x), ("w", w)):
        t.register_post_accumulate_grad_hook(lambda t, name=name: order.append(name))
    (c + a + d * w).sum().backward()
    return order


def retained_after_inplace(torch):
    x = leaf(torch, 1.0)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * 5).sum().backward()
    return y.grad.tolist(), x.grad.tolist()


def detached(torch):
    x = leaf(torch, 1.0, 2.0)
    y = (x * 2).detach()
    z = x * y
    z.sum().backward()
    w = x * 1
    w.detach_()
    return x.grad.tolist(), y.requires_grad, w.requires_grad, w.is_leaf


def where_none_flows(torch):
    x = leaf(torch, 1.0, 2.0)
    a, b = x.unbind(0)
    values, index = torch.stack([x, x * 2]).max(dim=0)
    (a * 3).backward()
    values.sum().backward()
    return x.grad.tolist(), index.tolist(), b.requires_grad
