"""More scripts: hooks that get or return what they seldom do, and leaves that change meanwhile."""

# ruff: noqa: ARG005, PLW0108  (hooks and Functions have the arguments they have)

import copy
import pickle
import warnings

import numpy as np

from .scripts import error, leaf
from .scripts_of_functions import function_of


def functions_with_arguments_by_name(torch):
    seen = []

    def forward(ctx, x, factor=2.0, offset=0.0):
        seen.append(ctx.needs_input_grad)
        ctx.factor = factor
        return x * factor + offset

    made = function_of(torch, forward, lambda ctx, g: (g * ctx.factor, None, None))
    x = leaf(torch, 1.0, 2.0)
    one, both = made.apply(x, factor=7.0), made.apply(offset=1.0, factor=3.0, x=x)
    (one + both).sum().backward()
    return (
        one.tolist(), both.tolist(), x.grad.tolist(), seen,
        error(lambda: made.apply(x, offset=1.0), ""), error(lambda: made.apply(x, other=1.0), ""),
        error(lambda: made.apply(x, 2.0, factor=1.0), ""),
    )  # fmt: skip


def functions_with_setup_context_and_names(torch):
    def forward(x, *, factor=2.0):
        return x * factor

    x, made = leaf(torch, 1.0), function_of(torch, forward, None, lambda *_: None)
    return error(lambda: made.apply(x), ""), error(lambda: made.apply(x, factor=2.0), "")


def functions_that_do_not_materialize(torch):
    seen = []

    def run(materialize):
        def forward(ctx, x):
            marked = x * 3
            ctx.mark_non_differentiable(marked)
            ctx._materialize_non_diff_grads = materialize
            return x * 2, marked, x.long()

        def backward(ctx, *grads):
            seen.append([g is None for g in grads])
            return grads[0] * 2

        x = leaf(torch, 1.0)
        function_of(torch, forward, backward).apply(x)[0].sum().backward()
        return x.grad.tolist()

    return run(False), run(True), seen


def leaves_that_no_longer_need_a_gradient(torch):
    p, q, seen = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0), []
    p.register_hook(lambda g: seen.append("hook"))
    p.register_post_accumulate_grad_hook(lambda t: seen.append("accumulated"))
    loss = (p * q).sum()
    p.requires_grad_(False)
    loss.backward()
    first = [p.grad, q.grad.tolist(), list(seen)]
    p.requires_grad_(True)
    (p * q).sum().backward()
    return first, p.grad.tolist(), seen


def hooks_of_outputs_that_were_not_used(torch):
    x, seen = leaf(torch, 1.0, 2.0, 3.0, 4.0), []
    a, b = (x * 1).split(2)
    b.register_hook(lambda g: seen.append(g))
    b.retain_grad()
    a.sum().backward()
    (a, b), kept = (x * 1).split(2), b.grad
    b.register_hook(lambda g: torch.ones(2))
    told = error(lambda: a.sum().backward(), "can't replace a None gradient")
    made = function_of(torch, lambda ctx, x, w: x * w, lambda ctx, g: (g, None))
    w = leaf(torch, 1.0, 1.0, 1.0, 1.0)
    w.register_hook(lambda g: seen.append(["leaf", g]))
    w.register_post_accumulate_grad_hook(lambda t: seen.append(["after", t.grad]))
    made.apply(x, w).sum().backward()
    return x.grad.tolist(), seen, kept, told, w.grad


def node_hooks_that_return_what_they_may_not(torch):
    def run(kind, found):
        x = leaf(torch, 1.0, 2.0)
        y = x * 2
        getattr(y.grad_fn, kind)(lambda *seen: found(seen[0]))
        y.sum().backward()
        return x.grad.tolist()

    words = "expected tuple, but hook returned", "expected Variable, but hook returned"
    before = ("register_prehook", "register_hook")
    return (
        [error(lambda: run(kind, lambda g: g[0]), words[0]) for kind in before],  # noqa: B023
        [error(lambda: run(kind, list), words[0]) for kind in before],  # noqa: B023
        [error(lambda: run(kind, lambda g: 3), words[0]) for kind in before],  # noqa: B023
        [error(lambda: run(kind, lambda g: (3, *g[1:])), words[1]) for kind in before],  # noqa: B023
        [run(kind, lambda g: (g[0] * 2, *g[1:])) for kind in before],
    )


def post_accumulate_hooks_that_return_something(torch):
    def run(found):
        x = leaf(torch, 1.0)
        x.register_post_accumulate_grad_hook(lambda t: found)
        x.sum().backward()
        return x.grad.tolist()

    return (
        error(lambda: run(torch.ones(1).double()), "hooks should return None"),
        error(lambda: run(1), "expected Variable, but hook returned 'int'"),
        error(lambda: run(torch.ones(1)), "has changed the type of value"),
    )


def prehooks_of_nodes_with_several_outputs(torch):
    x, seen = leaf(torch, 1.0, 2.0, 4.0), []
    for name in ("var_mean", "std_mean"):
        spread, mean = getattr(torch, name)(x)
        spread.grad_fn.register_prehook(lambda g: seen.append([each is None for each in g]))
        mean.register_hook(lambda g: seen.append(g))
        spread.backward()
        same = spread.grad_fn is mean.grad_fn
        seen.append([spread.grad_fn.name(), same, spread.output_nr, mean.output_nr])
    values, _ = x.max(0)
    values.grad_fn.register_prehook(lambda g: seen.append(len(g)))
    values.backward()
    return seen, x.grad.tolist()


def pack_hooks_that_write(torch):
    def run(call, pack, unpack=lambda t: t):
        x = leaf(torch, 1.0, 2.0)
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = call(x)
        y.sum().backward()
        return x.grad.tolist()

    words = "A saved tensor pack hook is modifying its input in place."
    keep = function_of(torch, lambda ctx, x: ctx.save_for_backward(x) or x * 1, lambda ctx, g: g)
    wrong = "Output of saved tensor unpack_hook expected to be a Tensor"
    return (
        error(lambda: run(lambda x: x.exp(), lambda t: t.mul_(2)), words),
        error(lambda: run(lambda x: x * x.detach(), lambda t: t.add_(1)), words),
        error(lambda: run(lambda x: keep.apply(x * 1), lambda t: t.add_(1)), words),
        error(lambda: run(lambda x: x.exp(), lambda t: t, lambda t: 3), wrong),
        run(lambda x: x.exp().log(), lambda t: t.clone().mul_(1)),
    )


def views_that_are_older_than_the_leaf(torch):
    def old(grown):
        x = torch.ones(3)
        v = x[:2]
        (x if grown == "base" else v).requires_grad_()
        return x, v

    words = "a view of a leaf Variable that requires grad is being used in an in-place operation"
    x, v = old("base")
    seen = [v.requires_grad, v.is_leaf, (v * 2).requires_grad, v[:1].requires_grad]
    (v * 2).sum().backward()
    seen += [x.grad, v.grad, error(lambda: v.mul_(2), words), v.tolist()]
    x, v = old("view")
    seen += [error(lambda: v.mul_(2), words), x.requires_grad]
    x.mul_(torch.ones(3, requires_grad=True))
    seen += [x.requires_grad, v.requires_grad, v.is_leaf]
    x, v = old("base")
    with torch.no_grad():
        v.mul_(2)
    return [*seen, v.requires_grad, x.tolist()]


def norms_that_stop_tracking(torch):
    norm, x = torch.nn.BatchNorm1d(2), torch.arange(8.0).reshape(4, 2)
    norm(x)
    norm.track_running_stats = False
    norm(x)
    seen = [norm.num_batches_tracked.item(), [round(m, 5) for m in norm.running_mean.tolist()]]
    seen.append(round(norm.eval()(x).sum().item(), 3))
    norm.train().track_running_stats, norm.running_mean = True, None
    return seen, error(lambda: norm(x), "must either both be None or neither be None")


def writes_to_what_was_expanded(torch):
    def wide():
        return torch.ones(1).expand(3)

    here, first = torch.tensor([True, False, False]), torch.tensor([0])
    rows = torch.ones(2, 1).expand(2, 3).index_fill_(0, first, 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return wide().masked_fill_(here, 2.0).tolist(), rows.tolist(), wide()[0].add_(1).item()


def functions_of_numpy(torch):
    x, a = leaf(torch, 1.0, 4.0), np.zeros(2)
    y = x.detach()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [np.sqrt(y), np.add(y, y), np.isnan(y), np.float64(2) * x]
        np.sqrt(y, out=a)
        told = error(lambda: np.sqrt(x), "Can't call numpy() on Tensor that requires grad")
    return [[str(f.dtype)[-5:], f.tolist()] for f in found], a.tolist(), told


def copies_of_dtypes(torch):
    kept = {"kind": torch.float32, "other": torch.int64, "mask": torch.bool}
    deep, flat = copy.deepcopy(kept), copy.copy(torch.float64)
    back = pickle.loads(pickle.dumps(kept))  # noqa: S301
    same = [each[name] is kind for each in (deep, back) for name, kind in kept.items()]
    return same, flat is torch.float64
