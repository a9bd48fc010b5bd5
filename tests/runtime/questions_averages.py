"""Questions about LBFGS, averaged models, clipped gradients, and complex parameters."""

import numpy as np

from .questions_optim import arrays
from .tables import named

# LBFGS

SEARCHES = {
    "plain": {"lr": 0.01},
    "few iterations": {"lr": 1e-3, "max_iter": 4},
    "strong wolfe": {"line_search_fn": "strong_wolfe"},
    "short history": {"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 7},
    "few evaluations": {"lr": 0.5, "line_search_fn": "strong_wolfe", "max_eval": 5},
    "gradient small enough": {"line_search_fn": "strong_wolfe", "tolerance_grad": 0.5},
    "change small enough": {"lr": 0.005, "tolerance_change": 0.1},
}


def searched(t, options):
    """Losses, evaluations, parameters and state; after three steps the state goes to another."""
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(5), rng.standard_normal((2, 3)), np.array(1.0)]
    z = t.tensor(rng.standard_normal(2) + 1j * rng.standard_normal(2)).requires_grad_()
    x, y, w = params = [t.tensor(v, dtype=t.float64).requires_grad_() for v in values]
    unused = t.zeros(2, dtype=t.float64).requires_grad_()
    params = [*params, z, unused]
    optimizer, losses = t.optim.LBFGS(params, **options), []

    def closure():
        optimizer.zero_grad()
        valley = ((1 - x[:-1]) ** 2).sum() + 100 * ((x[1:] - x[:-1] ** 2) ** 2).sum()
        loss = valley + (y**4).sum() + (y.sum() - w) ** 2 + (z * z.conj()).real.sum()
        loss.backward()
        losses.append(loss.item())
        return loss

    returned = []
    for step in range(6):
        if step == 3:
            state = optimizer.state_dict()
            optimizer = t.optim.LBFGS(params, **options)
            optimizer.load_state_dict(state)
        returned.append(optimizer.step(closure).item())
    state = optimizer.state_dict()["state"][0]
    counts = [state[key] for key in ("func_evals", "n_iter")]
    lengths = [len(state[key]) for key in ("old_dirs", "old_stps", "ro")]
    return returned, losses, arrays(params), sorted(state), counts, lengths, repr(optimizer)


# Averages

# Of a model `m`; `s` is swa_utils.
AVERAGES = named("""
equal weights: s.AveragedModel(m)
equal weights, lists: s.AveragedModel(m, multi_avg_fn=s.get_swa_multi_avg_fn())
exponential: s.AveragedModel(m, avg_fn=s.get_ema_avg_fn(0.9))
exponential, lists: s.AveragedModel(m, multi_avg_fn=s.get_ema_multi_avg_fn(0.9))
with buffers: s.AveragedModel(m, multi_avg_fn=s.get_ema_multi_avg_fn(0.9), use_buffers=True)
of one's own: s.AveragedModel(m, avg_fn=lambda a, b, n: (a + b) / (n + 1), use_buffers=True)
""")


def averaged(t, name):
    """A net with batch normalization trained, its average, and that with statistics of its own."""
    s, rng = t.optim.swa_utils, np.random.default_rng(0)
    layers = t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Tanh(), t.nn.Linear(4, 1)
    net = t.nn.Sequential(*layers).to(t.zeros(1).device, t.float64)
    for p in net.parameters():
        p.data = t.tensor(rng.standard_normal(tuple(p.shape)))
    x, y = (t.tensor(rng.standard_normal((40, n))) for n in (3, 1))
    mean = eval(AVERAGES[name], {"s": s, "m": net})  # noqa: S307
    optimizer = t.optim.SGD(net.parameters(), lr=0.1)
    scheduler, losses = s.SWALR(optimizer, swa_lr=0.02, anneal_epochs=4), []
    for step in range(9):
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step > 2:
            mean.update_parameters(net)
        losses.append([loss.item(), *scheduler.get_last_lr()])
    before = [each.clone() for each in mean.state_dict().values()]
    s.update_bn([(x[i : i + 8], y[i : i + 8]) for i in range(0, 40, 8)], mean)
    after = list(mean.state_dict().values())
    kept = [mean.module[1].momentum, mean.training, list(mean.state_dict())]
    return losses, arrays(before), arrays(after), mean.eval()(x).detach(), kept


ANNEALED = {
    f"{strategy} over {epochs}": (strategy, epochs)
    for strategy in ("cos", "linear")
    for epochs in (0, 1, 5)
}


def annealed(t, question):
    strategy, epochs = question
    groups = [{"params": [t.zeros(1)]}, {"params": [t.zeros(2)], "lr": 0.3}]
    optimizer = t.optim.SGD(groups, lr=0.2)
    scheduler = t.optim.swa_utils.SWALR(optimizer, [0.05, 0.5], epochs, strategy)
    rates = []
    for _ in range(8):
        rates.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    return rates


# Clipped gradients

CLIPS = {
    f"{dtype} {norm} foreach={foreach}": (dtype, norm, foreach)
    for dtype in ("float32", "float64", "complex64")
    for norm in (2.0, 1, 3, 0.5, 0, float("inf"), "value")
    for foreach in (None, True, False)
    if (dtype, norm) != ("complex64", "value")
}


def clipped(t, question):
    """The norm, and the gradients: of one dtype, one of another, and a parameter without one."""
    dtype, norm, foreach = question
    rng, params = np.random.default_rng(0), []
    for shape, kind in (((3, 2), dtype), ((4,), dtype), ((), dtype), ((5,), "float64")):
        params.append(t.zeros(shape, dtype=getattr(t, kind)).requires_grad_())
        params[-1].grad = t.tensor(rng.standard_normal(shape) * 3).to(getattr(t, kind))
    params.append(t.zeros(2).requires_grad_())
    if norm == "value":
        total = t.nn.utils.clip_grad_value_((p for p in params), 0.5, foreach)
    else:
        total = t.nn.utils.clip_grad_norm_((p for p in params), 2, norm, foreach=foreach)
    gentle = t.nn.utils.get_total_norm([p.grad for p in params[:-1]])
    return total, [p.grad for p in params], gentle


# Complex parameters

_OPTIONS = {"SGD": {"momentum": 0.9}, "Adam": {"amsgrad": True}, "RMSprop": {"centered": True}}
_OPTIONS |= {"Adagrad": {}, "Adadelta": {}, "Adamax": {}, "NAdam": {}}
_OPTIONS |= {"RAdam": {"betas": (0.5, 0.6)}, "Rprop": {}, "ASGD": {}}
COMPLEX = {
    f"{name} {options} foreach={foreach}": (name, {**options, "foreach": foreach})
    for name, options in _OPTIONS.items()
    for foreach in (None, True)
}


def of_complex(t, question):
    """A complex and a real parameter after steps, between which the state goes to another."""
    name, options = question
    rng = np.random.default_rng(0)
    draw = rng.standard_normal
    p = t.tensor(draw(3) + 1j * draw(3)).requires_grad_()
    q = t.tensor(draw(3)).requires_grad_()
    optimizer = getattr(t.optim, name)([p, q], lr=0.1, **options)
    for step in range(6):
        if step == 3:
            state = optimizer.state_dict()
            optimizer = getattr(t.optim, name)([p, q], lr=0.1, **options)
            optimizer.load_state_dict(state)
        p.grad, q.grad = t.tensor(draw(3) + 1j * draw(3)), t.tensor(draw(3))
        optimizer.step()
    state = optimizer.state_dict()["state"]
    kept = [[state[i][key] for key in sorted(state[i])] for i in sorted(state)]
    return arrays([p, q]), kept
