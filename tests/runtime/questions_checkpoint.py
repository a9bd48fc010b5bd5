"""Questions about checkpointing: gradients, numbers of runs, and errors."""

# ruff: noqa: ARG005  (lambdas and Functions have the arguments they have)

import warnings

from .observed import raised
from .scripts import leaf
from .tables import functions_of


def gradients(torch, ck, reentrant):
    calls, x, y, w = [], leaf(torch, 1.0, 2.0), leaf(torch, 0.5, 0.3), leaf(torch, 2.0, -1.0)

    def f(a, b, scale):
        calls.append(torch.is_grad_enabled())
        return (a * b).sin() * scale * w, a.exp()

    p, q = ck.checkpoint(f, x, y, 3, use_reentrant=reentrant)
    before = len(calls)
    ((p * q).sum() + p.sum()).backward()
    return [x.grad.tolist(), y.grad.tolist(), w.grad.tolist()], before, calls


def several_backwards(torch, ck, reentrant):
    calls, x = [], leaf(torch, 1.0, 2.0)

    def f(a):
        calls.append(1)
        return a.sin().exp()

    out, counts = ck.checkpoint(f, x, use_reentrant=reentrant).sum(), []
    for keep in (True, True, False):
        out.backward(retain_graph=keep)
        counts.append(len(calls))
    return x.grad.tolist(), counts, raised(out.backward)


def nested(torch, ck, reentrant):
    x = leaf(torch, 1.0, 2.0)

    def inner(a):
        return a.sin().exp()

    def outer(a):
        return ck.checkpoint(inner, a * 2, use_reentrant=reentrant).cos() * a

    ck.checkpoint(outer, x, use_reentrant=reentrant).sum().backward()
    return x.grad.tolist()


def no_input_needs_grad(torch, ck, reentrant):
    w, x = leaf(torch, 2.0), torch.ones(1, dtype=torch.float64)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        out = ck.checkpoint(lambda a: a * w, x, use_reentrant=reentrant)
    return out.requires_grad, [str(w.message)[:40] for w in seen]


def other_things_saved(torch, ck, reentrant):
    found = []
    for first, second in (
        (lambda a: a.sin(), lambda a: a * 1.0),
        (lambda a: a.sin().exp(), lambda a: a.sin()),
        (lambda a: a.sin(), lambda a: a[:1].sin().sum() * a),
    ):
        for check in ("default", "none"):
            x, runs = leaf(torch, 1.0, 2.0), [first, second]
            out = ck.checkpoint(
                lambda a, runs=runs: runs.pop(0)(a), x, use_reentrant=False, determinism_check=check
            )
            found.append(raised(out.sum().backward))
    return found


def modified_argument(torch, ck, reentrant):
    x = leaf(torch, 1.0, 2.0)
    h = x * 1
    out = ck.checkpoint(lambda a: a.sin(), h, use_reentrant=reentrant)
    with torch.no_grad():
        h.mul_(2)
    return raised(out.sum().backward)


def bad_calls(torch, ck, reentrant):
    x = leaf(torch, 1.0)
    return (
        raised(lambda: ck.checkpoint(lambda a, b: a, x, b=1, use_reentrant=True)),
        raised(lambda: ck.checkpoint(lambda a: a, x, use_reentrant=False, determinism_check="x")),
        raised(lambda: ck.checkpoint(lambda a: a / [], x, use_reentrant=reentrant)),
        raised(ck.checkpoint(lambda a: a.detach() * 1, x, use_reentrant=True).sum().backward),
    )


def keywords(torch, ck, reentrant):
    x = leaf(torch, 1.0, 2.0)
    out = ck.checkpoint(lambda a, power: a**power, x, use_reentrant=False, power=3)
    out.sum().backward()
    with torch.no_grad():
        plain = ck.checkpoint(lambda a: a * 2, x, use_reentrant=False)
    return x.grad.tolist(), plain.requires_grad


def double_backward(torch, ck, reentrant):
    x = leaf(torch, 1.0, 2.0)
    out = ck.checkpoint(lambda a: (a.sin() * a).sum(), x, use_reentrant=False)
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    return g.tolist(), gg.tolist()


def grad_call(torch, ck, reentrant):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    out = ck.checkpoint(lambda a, b: (a * b).sin(), x, y, use_reentrant=reentrant).sum()
    return raised(lambda: torch.autograd.grad(out, x))


CHECKPOINTS = {
    f"{script.__name__}, {'re-entrant' if reentrant else 'not re-entrant'}": (script, reentrant)
    for script in functions_of(globals(), "(torch, ck, reentrant)")
    for reentrant in (True, False)
}
