"""Questions about learning-rate schedulers: the same rates, and the same states."""

# ruff: noqa: E501  (a row a scheduler)

import numpy as np

from .tables import named

# Of an optimizer `o`, by names of their own; `s` is lr_scheduler.
SCHEDULES = named("""
step: s.StepLR(o, 4, gamma=0.5); milestones: s.MultiStepLR(o, milestones=[0, 3, 3, 11], gamma=0.3)
constant: s.ConstantLR(o, factor=0.25, total_iters=7)
linear: s.LinearLR(o, 0.1, end_factor=0.8, total_iters=9); exponential: s.ExponentialLR(o, 0.9)
cosine: s.CosineAnnealingLR(o, 7, eta_min=0.01); lambda: s.LambdaLR(o, lambda t: 1 / (1 + t))
lambdas: s.LambdaLR(o, [lambda t: 0.9**t, lambda t: 1.0])
one cycle: s.OneCycleLR(o, 0.5, total_steps=31)
one cycle, linear: s.OneCycleLR(o, [0.5, 1.0], epochs=4, steps_per_epoch=8, anneal_strategy='linear', pct_start=0.4)
one cycle, three phases: s.OneCycleLR(o, 0.5, total_steps=31, three_phase=True, base_momentum=0.8, max_momentum=0.9)
sequence: s.SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=5), s.CosineAnnealingLR(o, 10), s.StepLR(o, 3)], [5, 15])
polynomial: s.PolynomialLR(o, total_iters=9, power=2.0)
restarts: s.CosineAnnealingWarmRestarts(o, 7, eta_min=0.01)
longer restarts: s.CosineAnnealingWarmRestarts(o, 3, T_mult=2)
triangles: s.CyclicLR(o, 0.1, 0.5, step_size_up=4)
lower triangles: s.CyclicLR(o, [0.1, 0.2], [0.5, 0.6], 3, 5, 'triangular2', base_momentum=0.7, max_momentum=0.95)
decaying triangles: s.CyclicLR(o, 0.1, 0.5, 4, mode='exp_range', gamma=0.95, cycle_momentum=False)
own triangles: s.CyclicLR(o, 0.1, 0.5, 5, scale_fn=lambda x: 1 / (1 + x), scale_mode='iterations')
two: (s.LinearLR(o, 0.1, total_iters=5), s.ExponentialLR(o, 0.9))
two more: (s.StepLR(o, 3), s.CosineAnnealingLR(o, 6))
""")


def _made(t, name, optimizer):
    """A tuple of schedulers."""
    made = eval(SCHEDULES[name], {"s": t.optim.lr_scheduler, "o": optimizer})  # noqa: S307
    return made if isinstance(made, tuple) else (made,)


def scheduled(t, question):
    """The groups' rates and momenta over 30 steps; at `stop`, the state goes to a new scheduler."""
    name, optimizer_name, stop = question

    def fresh():
        groups = [{"params": [t.zeros(1)]}, {"params": [t.zeros(2)], "lr": 0.3}]
        optimizer = getattr(t.optim, optimizer_name)(groups, lr=0.2)
        return optimizer, _made(t, name, optimizer)

    optimizer, schedulers = fresh()
    seen = []
    for number in range(30):
        seen.append([g["lr"] for g in optimizer.param_groups])
        seen[-1] += [g.get("momentum", 0) for g in optimizer.param_groups]
        seen[-1] += [g.get("betas", (0,))[0] for g in optimizer.param_groups]
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step()
        assert schedulers[-1].get_last_lr() == [g["lr"] for g in optimizer.param_groups]
        if number == stop:
            states = [optimizer.state_dict(), *[s.state_dict() for s in schedulers]]
            optimizer, schedulers = fresh()
            for one, state in zip((optimizer, *schedulers), states, strict=True):
                one.load_state_dict(state)
            optimizer.step()
    return seen


RATES = {
    f"{name}-{optimizer}-{stop}": (name, optimizer, stop)
    for name in SCHEDULES
    for optimizer in ("SGD", "Adam")
    for stop in (None, 12)
}


def state_of_scheduler(t, name):
    """What a scheduler keeps, as far as it says how the rates go on, after a step."""
    groups = [{"params": [t.zeros(1)]}, {"params": [t.zeros(2)], "lr": 0.3}]
    optimizer = t.optim.SGD(groups, lr=0.2)
    made = _made(t, name, optimizer)
    optimizer.step()
    state = made[0].state_dict()
    return [[key, state[key]] for key in KEPT if key in state], "_schedulers" in state


KEPT = (
    "base_lrs last_epoch gamma step_size T_max T_0 T_i T_cur T_mult eta_min power total_iters "
    "start_factor end_factor factor total_size step_ratio max_lrs scale_mode cycle_momentum "
    "total_steps lr_lambdas _last_lr _step_count _is_initial _milestones"
).split()

_OPTIONS = {
    "StepLR": {"step_size": 5}, "MultiStepLR": {"milestones": [2, 5, 9]},
    "ConstantLR": {"total_iters": 5}, "LinearLR": {"total_iters": 7},
    "PolynomialLR": {"total_iters": 9}, "ExponentialLR": {"gamma": 0.9},
    "CosineAnnealingLR": {"T_max": 7}, "CosineAnnealingWarmRestarts": {"T_0": 3},
    "LambdaLR": {"lr_lambda": lambda t: 0.9**t},
    "CyclicLR": {"base_lr": 0.1, "max_lr": 0.3, "step_size_up": 4, "cycle_momentum": False},
}  # fmt: skip
RESUMED = {
    f"{name} {options} after {last_epoch}": (name, options, last_epoch)
    for name, options in _OPTIONS.items()
    for last_epoch in (0, 4, 8)
}
RESUMED = {key.partition(" at 0x")[0] + key[-8:]: row for key, row in RESUMED.items()}


def resumed(t, question):
    """The rates of a scheduler that is made with a `last_epoch`, and where `step` is told one."""
    name, options, last_epoch = question
    groups = [{"params": [t.zeros(1)], "initial_lr": 0.5}]
    optimizer = t.optim.SGD(groups, lr=0.2)
    made = getattr(t.optim.lr_scheduler, name)(optimizer, **options, last_epoch=last_epoch)
    seen = [made.last_epoch]
    for epoch in (None, None, None, 6, None, 2, 14, None):
        seen += made.get_last_lr()
        optimizer.step()
        made.step(epoch)
    return seen


PLATEAUS = {
    f"{mode}-{threshold_mode}-{cooldown}": (mode, threshold_mode, cooldown)
    for mode in ("min", "max")
    for threshold_mode in ("rel", "abs")
    for cooldown in (0, 2)
}


def plateau(t, question):
    """The rates of ReduceLROnPlateau over thirty steps; they do not stay as they are."""
    mode, threshold_mode, cooldown = question
    rng = np.random.default_rng(3)
    metrics = (np.exp(-np.arange(30) / 5) + rng.random(30) * 0.1) * (1 if mode == "min" else -1)
    groups = [{"params": [t.zeros(1)]}, {"params": [t.zeros(2)], "lr": 3.0}]
    optimizer = t.optim.SGD(groups, lr=1.0)
    scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode, 0.5, 1, 0.05, threshold_mode, cooldown, min_lr=[1e-2, 0.5]
    )
    rates = []
    for metric in metrics:
        optimizer.step()
        scheduler.step(metric)
        rates.append(scheduler.get_last_lr())
    assert rates[-1] != rates[0]
    return rates
