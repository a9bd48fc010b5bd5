"""More scripts: modes as decorators, nodes, hooks, gradients as attributes, saved tensors."""

# ruff: noqa: ARG005, PERF203  (hooks and Functions have the arguments they have)

import warnings

from .scripts import error, leaf


def modes_as_decorators(torch):
    @torch.no_grad
    def bare():
        return torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def off():
        return torch.is_grad_enabled()

    @torch.inference_mode()
    def inference():
        return torch.is_inference_mode_enabled(), torch.is_grad_enabled(), torch.ones(1)

    @torch.inference_mode(False)
    def not_inference():
        return torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    @torch.enable_grad()
    def on():
        return torch.is_grad_enabled()

    seen = [bare(), off(), torch.is_grad_enabled()]
    inside, grad, made = inference()
    seen += [inside, grad, made.is_inference(), not_inference()]
    with torch.no_grad():
        seen += [on(), off(), torch.is_grad_enabled()]
        with torch.inference_mode():
            seen.append(not_inference())
    return seen, bare.__name__, torch.is_grad_enabled()


def modes_in_generators(torch):
    seen = []

    @torch.no_grad()
    def numbers():
        while True:
            try:
                got = yield torch.is_grad_enabled()
                seen.append((got, torch.is_grad_enabled()))
            except ValueError as e:
                seen.append((str(e), torch.is_grad_enabled()))
            except KeyError:
                return "end"

    it = numbers()
    out = [next(it), it.send(1), torch.is_grad_enabled(), it.throw(ValueError("thrown"))]
    try:
        it.throw(KeyError("stop"))
    except StopIteration as stop:
        out.append(stop.value)
    closed = numbers()
    next(closed)
    closed.close()
    return seen, out, torch.is_grad_enabled()


def a_mode_within_itself(torch):
    mode, seen = torch.no_grad(), []
    with mode:
        with torch.enable_grad():
            with mode:
                seen.append(torch.is_grad_enabled())
            seen.append(torch.is_grad_enabled())
        seen.append(torch.is_grad_enabled())
    try:
        with mode:
            raise KeyError
    except KeyError:
        seen.append(torch.is_grad_enabled())
    return seen


def inference_tensors(torch):
    with torch.inference_mode():
        x = torch.ones(2)
        y = x.clone()
        y[0] = 3
        view, made = y[1:], torch.tensor([1.0])
    normal = torch.ones(2)
    with torch.inference_mode():
        normal.add_(1)
    return (
        error(lambda: x._version, "Inference tensors do not track version counter"),
        view.is_inference(), (x + normal).is_inference(), normal.is_inference(), normal.tolist(),
        x.clone().is_inference(), made.is_inference(), error(lambda: made.add_(1), "InferenceMode"),
    )  # fmt: skip


def nodes(torch):
    x = leaf(torch, 1.0)
    y = (x * 2).exp()
    node = y.grad_fn
    node.metadata["note"] = 5
    accumulate = node.next_functions[0][0].next_functions[0][0]
    edge = torch.autograd.graph.get_gradient_edge(y)
    return (
        node.metadata["note"], len(node.metadata), node.name(),
        "ExpBackward0 object at 0x" in repr(node), accumulate.variable is x, edge[0] is node,
        edge[1], node.next_functions[0][1],
    )  # fmt: skip


def hooks_on_nodes(torch):
    """What they return takes the place of gradients; one that is not needed does not run."""
    x, w, seen = leaf(torch, 1.0), leaf(torch, 2.0), []
    y = x * 2
    z = y * w
    y.grad_fn.register_prehook(lambda g: (g[0] * 10,))
    z.grad_fn.register_hook(lambda i, o: (i[0] + 1, i[1]))
    w_hook = w.register_hook(lambda g: seen.append(g.tolist()))
    z.sum().backward(retain_graph=True)
    first = x.grad.tolist(), w.grad.tolist()
    w_hook.remove()
    torch.autograd.grad(z.sum(), y, retain_graph=True)
    y.register_hook(lambda g: seen.append(["y", g.tolist()]))
    return first, [g.tolist() for g in torch.autograd.grad(z.sum(), [y, w])], seen


def callbacks_at_the_end(torch):
    seen, queue = [], torch.autograd.Variable._execution_engine.queue_callback
    x = leaf(torch, 1.0)
    x.register_hook(lambda g: queue(lambda: seen.append(x.grad.tolist())))
    (x * 3).sum().backward()
    return seen, error(lambda: queue(print), "Final callbacks can only be installed")


def gradients_as_attributes(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    y.sum().backward()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nothing = y.grad
    was = x.grad.tolist()
    x.grad = torch.ones(2).double()
    x.grad.add_(1)
    now = x.grad.tolist()
    x.grad = None
    x.grad = torch.zeros(2).double()
    del x.grad
    return (
        nothing, ["not a leaf Tensor" in str(w.message) for w in caught], was, now, x.grad,
        error(lambda: setattr(x, "grad", x), "can't assign Variable as its own grad"),
    )  # fmt: skip


def anomalies(torch):
    """Only with the mode on, and only with its check, is a nan an error; the node is named."""
    autograd = torch.autograd

    def attempt():
        x = leaf(torch, -1.0)
        return error((x.sqrt() * 0).sum().backward, "SqrtBackward0")

    seen = [attempt()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with autograd.set_detect_anomaly(True):
            seen.append(attempt())
            with autograd.set_detect_anomaly(False):
                seen.append(attempt())
        with autograd.set_detect_anomaly(True, check_nan=False):
            seen.append(attempt())
        with autograd.detect_anomaly(check_nan=False):
            seen.append(attempt())
        autograd.set_detect_anomaly(True)
        seen.append(attempt())
        autograd.set_detect_anomaly(False)
        seen.append(attempt())
    return seen


def saved_hooks_within_saved_hooks(torch):
    log = []

    def hooks(name):
        return torch.autograd.graph.saved_tensors_hooks(
            lambda t: (log.append(f"pack {name}"), t.tolist())[1],
            lambda data: (log.append(f"unpack {name}"), torch.tensor(data).double())[1],
        )

    x = leaf(torch, 1.0, 2.0)
    with hooks("outer"):
        a = x * x
        with hooks("inner"):
            b = a.exp()
        c = b * x
    x.sum().backward()
    c.sum().backward()
    return log, x.grad.tolist()


def saved_tensors_written_to(torch):
    """What is saved and then written to is an error that names the versions, by any name."""
    x, results = leaf(torch, 1.0, 2.0), []
    writes = [lambda h: h.add_(1), lambda h: h[0].mul_(2), lambda h: h.view(-1).zero_()]
    writes += [lambda h: h.detach().add_(1), lambda h: h.__setitem__(0, 5.0)]
    for write in (*writes, lambda h: h.data.add_(1)):
        h = x * 1
        y = h * h
        write(h)
        results.append(error(y.sum().backward, "version 1; expected version 0"))
    plain = torch.ones(2, dtype=torch.float64)
    y = x * plain
    plain.add_(1)
    h = x * 1
    kept = h.sigmoid()
    h.add_(1)  # sigmoid keeps its result, not its input
    kept.sum().backward()
    return results, error(y.sum().backward, "version 1; expected version 0"), x.grad.tolist()


def writes_to_views_that_are_freed(torch):
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0)
    y = x * 1
    y[1:].mul_(w)
    y.sum().backward()
    return (
        x.grad.tolist(),
        w.grad.tolist(),
        error(lambda: y.sum().backward(), "backward through the graph a second time"),
    )


def complex_gradients_of_real_inputs(torch):
    x = leaf(torch, 1.0, 2.0)
    c = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)
    (x * c).abs().sum().backward()
    return (
        x.grad.dtype == torch.float64,
        [round(v, 9) for v in x.grad.tolist()],
        [[round(v.real, 9), round(v.imag, 9)] for v in c.grad.tolist()],
        error(lambda: (c * c).sum().backward(), "grad can be implicitly created only for"),
    )


def leaves_that_are_used_again(torch):
    """A backward into a graph that shares a part with an earlier one, and changed leaves."""
    x = leaf(torch, 1.0, 2.0)
    shared = x.exp()
    shared.sum().backward(retain_graph=True)
    first = [round(v, 9) for v in x.grad.tolist()]
    with torch.no_grad():
        x -= 1
        x.grad.zero_()
    (shared * x).sum().backward()
    return first, x.tolist(), [round(v, 9) for v in x.grad.tolist()], x.is_leaf, x._version


def views_of_what_was_made_in_inference_mode(torch):
    def state(t):
        return t.requires_grad, t.is_inference(), t._is_view(), t.is_leaf

    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    n = torch.ones(2, 3, dtype=torch.float64)
    with torch.inference_mode():
        a, r = torch.ones(2, 3, dtype=torch.float64), torch.ones(2, requires_grad=True)
        inside = [a.view(-1), x.view(-1), x[0], *x.split(1), *x.unbind(), n.t(), x.view(-1)[:2]]
        inside += [r, r.view(2, 1), x.detach(), (x * 2).t()]
    v, w, u, s, *_ = inside
    with torch.no_grad():
        inside += [*x.split(1), *x.chunk(2, 1), x.expand(2, 2, 3)]
    outside = [a.view(-1), v[0], a.t().t(), *a.split(1), *a.unbind(), *v, a.expand(2, 2, 3)]
    outside += [v + 1, v.sum(), v.clone(), v.detach(), a.t() + 1, w * 2, u.sum(), n[0], a[[0, 1]]]
    (w * w).sum().backward()
    (a.view(-1) + x.view(-1)).sum().backward()
    return (
        [state(t) for t in (*inside, *outside)],
        x.grad.tolist(),
        [
            error(call, words)
            for call, words in (
                (lambda: v.add_(1), "Inplace update to inference tensor outside InferenceMode"),
                (lambda: a.view(-1).add_(1), "Inplace update to inference tensor outside"),
                (lambda: a.__setitem__(0, 5.0), "Inplace update to inference tensor outside"),
                (lambda: s.add_(1), "in"),
                (lambda: w.add_(1), "in"),
                (lambda: v * x.view(-1), "Inference tensors cannot be saved for backward."),
                (lambda: a.view(-1).requires_grad_(), "Setting requires_grad=True on inference"),
            )
        ],
    )
