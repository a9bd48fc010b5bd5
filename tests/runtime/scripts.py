"""Small scripts, each run once with PyTorch and once with the runtime as `torch`.

What a script returns (numbers, lists, names, messages) has to be the same.
"""

# ruff: noqa: ARG005, PLW0108  (hooks and Functions have the arguments they have)

import warnings


def error(call, words):
    """The class of what `call` raises, and `words`, which the messages of both libraries have.

    A message without them stands there instead. For the rest of it each library has its own words.
    """
    try:
        call()
    except (RuntimeError, TypeError, ValueError, IndexError) as e:
        return type(e).__name__, words if words in str(e) else str(e)
    return "nothing", ""


def leaf(torch, *values):
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def accumulates(torch):
    x = leaf(torch, 1.0, 2.0)
    (x * x).sum().backward()
    first = x.grad
    (x * x * x).sum().backward()
    return x.grad.tolist(), first is x.grad


def graph_shape(torch):
    x = leaf(torch, 1.0, 2.0)
    y, names = (x * 2).exp().sum(), []
    node = y.grad_fn
    while node is not None:
        names.append(node.name().split("::")[-1])
        node = node.next_functions[0][0] if node.next_functions else None
    return names, y.is_leaf, x.is_leaf, y.output_nr, x.grad_fn


def linear_graph(torch):
    w, b = torch.ones(3, 2, requires_grad=True), torch.zeros(3, requires_grad=True)
    y = torch.nn.functional.linear(torch.ones(4, 2), w, b)
    return (
        y.grad_fn.name(),
        [None if f is None else f.name().split("::")[-1] for f, _ in y.grad_fn.next_functions],
        y.grad_fn.next_functions[2][0].next_functions[0][0].name().split("::")[-1],
    )


def second_backward(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    z = (x + x).sum()
    z.backward()
    z.backward()
    return x.grad.tolist(), error(y.backward, "backward through the graph a second time")


def higher_order(torch):
    x = leaf(torch, 0.5, 2.0)
    y, found = (x.tanh() * x.exp()).sum(), []
    for _ in range(4):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        found.append(y.tolist())
    return found


def create_graph_accumulates(torch):
    x = leaf(torch, 3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x**3).sum().backward(create_graph=True)
    g = x.grad
    x.grad = None
    (g * g).sum().backward()
    return g.tolist(), x.grad.tolist()


def unused_inputs(torch):
    x, z = leaf(torch, 1.0), leaf(torch, 2.0)
    y = (x * 3).sum()
    a = torch.autograd.grad(y, [x, z], retain_graph=True, allow_unused=True)
    b = torch.autograd.grad(y, [x, z], retain_graph=True, materialize_grads=True)
    return (
        a[0].tolist(), a[1], [g.tolist() for g in b],
        error(lambda: torch.autograd.grad(y, [x, z]), "differentiated Tensor"),
        error(lambda: torch.autograd.grad(y, [torch.ones(1)]), "does not require grad"),
    )  # fmt: skip


def backward_inputs(torch):
    x, z = leaf(torch, 1.0), leaf(torch, 2.0)
    h = x * z
    (h * h).sum().backward(inputs=[z, h])
    return x.grad, z.grad.tolist(), h.grad.tolist()


def bad_calls(torch):
    x = leaf(torch, 1.0, 2.0)
    return (
        error(lambda: (x * 2).backward(), "grad can be implicitly created only for"),
        error(lambda: torch.ones(1).backward(), "element 0 of tensors does not require grad"),
        error(lambda: (x * 2).backward(torch.ones(3).double()), "Mismatch in shape: grad_output"),
        error(lambda: setattr(x, "grad", torch.ones(3)), "attempting to assign a gradient"),
        error(lambda: setattr(x, "grad", 3), "assigned grad expected to be a Tensor or None"),
        error(lambda: setattr(x * 2, "requires_grad", False), "requires_grad flags of leaf"),
        error(lambda: torch.tensor([1], requires_grad=True), "floating point and complex dtype"),
        error(lambda: x.numpy(), "Can't call numpy() on Tensor that requires grad"),
        error(lambda: x.add_(1), "leaf Variable that requires grad"),
        error(lambda: x[0].add_(1), "view of a leaf Variable"),
        error(lambda: bool(x), "ambiguous"),
    )


def grad_of_several(torch):
    x = leaf(torch, 1.0, 2.0)
    a, b = x * 2, x.sin()
    torch.autograd.backward([a, b], [torch.ones_like(a), torch.ones_like(b) * 2])
    return x.grad.tolist()


def gradients_are_not_shared(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    (x + y).backward(torch.ones(1, dtype=torch.float64))
    x.grad.mul_(5)
    return x.grad.tolist(), y.grad.tolist()


def given_gradient_is_not_taken(torch):
    x, g = leaf(torch, 1.0), torch.ones(1, dtype=torch.float64)
    (x + 0).backward(g)
    x.grad.mul_(5)
    return g.tolist()


def hook_order(torch):
    seen, x = [], leaf(torch, 1.0)
    h = x * 2
    h.retain_grad()
    h.register_hook(lambda g: seen.append(("h1", g.tolist())) or g * 2)
    h.register_hook(lambda g: seen.append(("h2", g.tolist())))
    h.grad_fn.register_prehook(lambda g: seen.append(("pre", g[0].tolist())))
    h.grad_fn.register_hook(lambda i, o: seen.append(("post", i[0].tolist(), o[0].tolist())))
    x.register_hook(lambda g: seen.append(("x", g.tolist())))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("acc", t.grad.tolist())))
    h.sum().backward()
    return seen, h.grad.tolist()


def hooks_can_be_removed(torch):
    seen, x = [], leaf(torch, 1.0)
    handle = x.register_hook(lambda g: seen.append("a"))
    x.register_hook(lambda g: seen.append("b"))
    (x * 2).sum().backward()
    handle.remove()
    handle.remove()
    (x * 2).sum().backward()
    return seen


def hook_on_captured(torch):
    x = leaf(torch, 1.0)
    h = x * 2
    h.register_hook(lambda g: g * 10)
    return [g.tolist() for g in torch.autograd.grad((h * 3).sum(), [h, x])]


def hook_errors(torch):
    x = leaf(torch, 1.0, 2.0)
    h = x * 2
    h.register_hook(lambda g: g.sum())
    return (
        error(lambda: h.sum().backward(), "size"),
        error(lambda: torch.ones(1).register_hook(print), "doesn't require gradient"),
        error(lambda: h.register_post_accumulate_grad_hook(print), "leaf"),
        error(lambda: torch.ones(1).retain_grad(), "requires_grad=False"),
    )


def versions_count(torch):
    x = torch.zeros(3)
    v, d, start = x[1:], x.detach(), x._version
    v.add_(1)
    x.mul_(2)
    d.add_(1)
    x.data.add_(1)
    return x._version - start, v._version == x._version, d._version == x._version, x.tolist()
