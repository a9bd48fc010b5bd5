"""More scripts: what torch.autograd has beside the graph itself: edges, batches, saved tensors."""

from .scripts import error, leaf


def variables(torch):
    made, x = torch.autograd.Variable, torch.ones(2)
    v = made(x, requires_grad=True)
    (v * 3).sum().backward()
    of_graph = made(v * 2)
    return (
        v.grad.tolist(),
        v.data_ptr() == x.data_ptr(),
        [isinstance(v, made), isinstance(x, made), isinstance(3, made)],
        [of_graph.requires_grad, of_graph.grad_fn is None],
        error(lambda: made([1.0, 2.0]), "Variable data has to be a tensor"),
    )


def gradients_of_edges(torch):
    edge_of, x = torch.autograd.graph.get_gradient_edge, leaf(torch, 1.0, 2.0)
    y = x * 2
    edge, one = edge_of(y), torch.ones(2, dtype=torch.float64)
    found = [torch.autograd.grad((y * 3).sum(), edge)[0].tolist()]
    found.append(torch.autograd.grad(edge, x, one, retain_graph=True)[0].tolist())
    found.append(torch.autograd.grad((x * 3).sum(), [edge_of(x)])[0].tolist())
    torch.autograd.backward(edge, one)
    told = "does not require gradients"
    return (
        [type(edge).__name__, edge.node.name(), edge.output_nr],
        found,
        x.grad.tolist(),
        error(lambda: edge_of(x.detach()), told),
        error(lambda: torch.autograd.grad((x * 2).sum(), edge, materialize_grads=True), ""),
    )


def batches_of_gradients(torch):
    x, w, z = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0), leaf(torch, 1.0)
    rows, grad = torch.eye(2, dtype=torch.float64), torch.autograd.grad
    pair = grad(x**2 * w, (x, w), rows, is_grads_batched=True)
    again = grad(x**3, x, rows, is_grads_batched=True, create_graph=True)[0]
    unused = grad(x * 2, (x, z), rows, is_grads_batched=True, allow_unused=True)
    return (
        [g.tolist() for g in pair],
        grad(again.sum(), x)[0].tolist(),
        [unused[0].tolist(), unused[1]],
        error(lambda: grad(x * 2, x, rows[:0], is_grads_batched=True), "")[0],
        error(lambda: grad(x * 2, x, rows[0, 0], is_grads_batched=True), "")[0],
        error(lambda: grad(x * 2, x, is_grads_batched=True), "")[0],
    )


def hooks_of_several_tensors(torch):
    register, seen = torch.autograd.graph.register_multi_grad_hook, []
    a, b, c = leaf(torch, 1.0), leaf(torch, 2.0), leaf(torch, 3.0)
    handle = register((a, b, c), lambda grads: seen.append([g and g.item() for g in grads]))
    first = register((a, b), lambda grad: seen.append(grad.item()), mode="any")
    (a * b).sum().backward()
    (a * b * c).sum().backward()
    handle.remove()
    (a * b * c).sum().backward()
    first.remove()
    loss = (a * b).sum()  # the root is not counted
    with register((loss, a), lambda grads: seen.append([g and g.item() for g in grads])):
        loss.backward()
    (a * b * c).sum().backward()
    return seen, error(lambda: register((a,), print, mode="each"), "Expects mode to be one of")


def saved_tensors_on_the_cpu(torch):
    graph, x = torch.autograd.graph, leaf(torch, 1.0, 2.0)
    with graph.save_on_cpu():
        y = (x.exp() * x).sum()
    with graph.save_on_cpu(pin_memory=False):
        y = y + (x * x).sum()
    y.backward()

    def nested(outer, inner):
        with outer, inner:
            pass

    def hooks():
        return graph.saved_tensors_hooks(lambda t: t, lambda t: t)

    none = graph.disable_saved_tensors_hooks
    with none("none here"):
        z = (x * x).sum()
    with hooks():
        z = z + x.sum()
    return (
        x.grad.tolist(),
        torch.autograd.grad(z, x)[0].tolist(),
        error(lambda: nested(none("none here"), hooks()), "none here"),
        error(lambda: nested(hooks(), none("none here")), "none here"),
    )


def second_gradients_at_given_ones(torch):
    check, x, g = torch.autograd.gradgradcheck, leaf(torch, 0.5, 1.0), leaf(torch, 2.0, 3.0)
    return (
        check(torch.sin, (x,), grad_outputs=g),
        check(torch.sin, (x,), (g,), nondet_tol=1e-9),
        torch.autograd.gradcheck(torch.sin, (x,), fast_mode=True, check_undefined_grad=False),
        error(lambda: torch.autograd.gradcheck(torch.sin, (x,), unknown=1), ""),
    )


def memory_of_tensors(torch):
    x = torch.arange(6.0).reshape(2, 3)
    one, other = x.untyped_storage(), x[1].untyped_storage()
    return (
        [one.nbytes(), len(one), one.size(), one.device.type],
        [one.data_ptr() == other.data_ptr() == x.data_ptr(), other.nbytes()],
        [x[1].storage().size(), x.t().storage().tolist(), len(x.storage())],
        (x > 2).storage().tolist(),
    )


def complex_by_their_old_names(torch):
    return torch.cfloat is torch.complex64, torch.zeros(1, dtype=torch.cdouble).tolist()


def names_of_nodes(torch):
    x, y = leaf(torch, 1.0, 2.0).reshape(1, 2) * 1, leaf(torch, 3.0, 4.0) * 1
    here = torch.zeros(1, 1, dtype=torch.int64)
    made = [
        *(x.sum(), x.sum(0), x.mean((0, 1)), x.mean(), x.prod(), x.prod(1), torch.sum(x, dim=1)),
        *(x.max(), x.max(0)[0], x.min(), x.min(1)[0], x.median(), x.median(1)[0]),
        *(x**2, x**y, x % 2, x % y, x.clamp(0), x.clamp(y), x.clamp(0, 1)),
        *(x.squeeze(), x.squeeze(0)),
        *(x.lerp(y, 0.5), x.lerp(y, y), x.masked_fill(x > 0, 1.0), x.masked_fill(x > 0, y[0])),
        *(x.scatter(0, here, 1.0), x.scatter(0, here, x), x.clone().pow_(2), x.clone().clamp_(0)),
    ]
    return [[type(one.grad_fn).__name__, one.grad_fn.name()] for one in made]


def penalty_on_gradients_of_relus(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    with torch.no_grad():
        for p in model.double().parameters():
            p.copy_((torch.arange(p.numel()) * 5 % 7 - 3).reshape(p.shape))
    x = leaf(torch, [0.5, -1.0], [2.0, 0.25])
    (g,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    (g**2).sum().backward()
    return [p.grad if p.grad is None else p.grad.tolist() for p in model.parameters()]
