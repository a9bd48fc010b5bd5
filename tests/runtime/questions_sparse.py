"""Questions about sparse gradients: what the engine adds them up to, and how optimizers step."""

from .observed import raised


def rows(torch, weight, *index):
    """`weight[index]`, with a sparse gradient."""
    index = torch.tensor(index, dtype=torch.int64)
    return torch.nn.functional.embedding(index, weight, sparse=True)


def shown(grad):
    if not grad.is_sparse:
        return grad.tolist()
    thin = grad.coalesce()
    return (
        *(grad._indices().tolist(), grad._values().tolist(), grad.is_coalesced(), grad._nnz()),
        *(thin.indices().tolist(), thin.values().tolist(), thin.is_coalesced()),
        *(list(grad.shape), grad.to_dense().tolist(), str(grad.layout), grad.requires_grad),
    )


def accumulation(torch, w):
    """`.grad` over several backwards: sparse, += sparse, += dense, += sparse."""
    found, before = [], None
    for loss in (
        rows(torch, w, 1, 0, 1).sum(),
        (rows(torch, w, 2, 2) * 2).sum(),
        (w * 3).sum(),
        rows(torch, w, 0, 0).sum(),
    ):
        loss.backward()
        found.append((shown(w.grad), w.grad is before))
        before = w.grad
    return found


def one_buffer(torch, w):
    """Several gradients for one node."""
    a = rows(torch, w, 3, 1).sum() + (rows(torch, w, 2, 0) * 2).sum() + rows(torch, w, 3).sum() * 5
    b = rows(torch, w, 3, 1).sum() + (w * 2).sum()
    c = (w * 2).sum() + rows(torch, w, 3, 1, 3).sum() + (w * w).sum() + rows(torch, w, 0).sum()
    return [shown(torch.autograd.grad(y, w)[0]) for y in (a, b, c)]


def coalesced(torch, w):
    """One row, or none, is coalesced; two such add up to one that is."""
    y = rows(torch, w, 2).sum() + rows(torch, w, 1).sum() + rows(torch, w, 2).sum()
    found = [shown(torch.autograd.grad(y, w)[0])]
    for index in ((), (2,)):
        (grad,) = torch.autograd.grad(rows(torch, w, *index).sum(), w)
        found.append((shown(grad), grad.coalesce() is grad))
    return found


def hooks(torch, w):
    """Hooks get the sparse gradient and may give another."""
    seen = []
    w.register_hook(lambda g: seen.append((g.is_sparse, shown(g))) or g + g)
    w.register_post_accumulate_grad_hook(lambda t: seen.append(shown(t.grad)))
    rows(torch, w, 1, 2, 1).sum().backward()
    return seen


def recorded(torch, w):
    """With create_graph, a dense part stays differentiable."""
    y = rows(torch, w, 1, 1).sum() + (w * w * w).sum()
    (g,) = torch.autograd.grad(y, w, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), w, retain_graph=True)
    return g.tolist(), h.tolist()


def refusals(torch, w):
    rows(torch, w, 1, 1).sum().backward()
    dense = torch.ones(2, requires_grad=True)
    dense.grad = torch.ones(2)
    stepped = (getattr(torch.optim, n)([dense]).step for n in ("SparseAdam", "SGD", "Adagrad"))
    return [raised(call) for call in (w.grad.indices, w.grad.values, *stepped)]


def steps(torch, weight, name, options):
    """A table after some steps, and its state; or the class of the error."""
    try:
        optimizer = getattr(torch.optim, name)([weight], **options)
        for indices in ([1, 1, 3], [0], [], [3, 0, 3, 1]):
            found = rows(torch, weight, *indices)
            optimizer.zero_grad()
            (found * found).sum().backward()
            optimizer.step()
    except (RuntimeError, ValueError, NotImplementedError, TypeError, AttributeError) as error:
        return type(error).__name__
    state = optimizer.state_dict()["state"].get(0, {})
    shown = {k: v.to_dense() if hasattr(v, "to_dense") else v for k, v in state.items()}
    return weight, [[k, shown[k]] for k in sorted(shown) if shown[k] is not None]


CASES = [accumulation, one_buffer, coalesced, hooks, recorded, refusals]

STEPS = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}), ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adagrad", {"lr": 0.1, "weight_decay": 0.1}), ("Adagrad", {"lr": 0.1, "maximize": True}),
    ("SparseAdam", {}), ("SparseAdam", {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-3}),
    ("SparseAdam", {"lr": 0.1, "maximize": True}), ("Adam", {}), ("AdamW", {}), ("RMSprop", {}),
]  # fmt: skip
SPARSE = {case.__name__: (case, ()) for case in CASES}
SPARSE |= {f"{name} {options}": (steps, (name, options)) for name, options in STEPS}


def asked(torch, question):
    ask, more = question
    start = [[0.5, 1.0], [1.5, 2.0], [2.5, 3.0], [3.5, 4.0]]
    return ask(torch, torch.tensor(start, dtype=torch.float64, requires_grad=True), *more)
