"""Optimizers and schedulers: the same steps with PyTorch and with the runtime."""

# ruff: noqa: ARG005  (lambdas and Functions have the arguments they have)

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime import optim as rt_optim
from tidy.runtime.record_function import add_callback

pytestmark = pytest.mark.oracle

CASES = {
    "SGD": [
        {},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    ],
    "Adam": [
        {},
        {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1},
        {"lr": 0.1, "amsgrad": True, "maximize": True},
    ],
    "AdamW": [{}, {"lr": 0.1, "weight_decay": 0.2, "amsgrad": True, "eps": 1e-3}],
    "RMSprop": [
        {},
        {"lr": 0.1, "centered": True, "maximize": True},
        {"lr": 0.1, "alpha": 0.8, "momentum": 0.9, "weight_decay": 0.1, "centered": True},
    ],
    "Adagrad": [
        {},
        {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5, "weight_decay": 0.1},
        {"lr": 0.1, "maximize": True},
    ],
}
PARAMS = [
    pytest.param(name, {**options, "foreach": foreach}, id=f"{name}-{number}-{foreach}")
    for name, several in CASES.items()
    for number, options in enumerate(several)
    for foreach in (None, True)
]
SHAPES = [(3, 2), (4,), ()]
STEPS = 20


def modules(library):
    if library == "tidy":
        return rt, rt_optim
    torch = pytest.importorskip("torch")
    return torch, torch.optim


def gradients(steps=STEPS):
    rng = np.random.default_rng(1)
    return [[rng.standard_normal(s) for s in SHAPES] for _ in range(steps)]


def start(t, optim, name, options):
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s) for s in SHAPES]
    params = [t.tensor(v, dtype=t.float64).requires_grad_() for v in values]
    return params, getattr(optim, name)(params, **options)


def give(t, params, grads):
    for p, g in zip(params, grads, strict=True):
        p.grad = t.tensor(g, dtype=t.float64)


def trained(library, name, options, steps=STEPS):
    t, optim = modules(library)
    params, optimizer = start(t, optim, name, options)
    for grads in gradients(steps):
        give(t, params, grads)
        optimizer.step()
    return params, optimizer


def arrays(tensors):
    return [t.detach().numpy() for t in tensors]


def close(ours, theirs, tolerance=1e-10):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "options"), PARAMS)
def test_steps_and_state(name, options):
    theirs, their_optimizer = trained("torch", name, options)
    ours, our_optimizer = trained("tidy", name, options)
    close(arrays(ours), arrays(theirs))
    a, b = our_optimizer.state_dict(), their_optimizer.state_dict()
    assert a["param_groups"] == b["param_groups"]
    assert a["state"].keys() == b["state"].keys()
    for number, state in b["state"].items():
        assert a["state"][number].keys() == state.keys()
        for key, value in state.items():
            close([a["state"][number][key].numpy()], [value.numpy()])
            assert str(a["state"][number][key].dtype) == str(value.dtype).removeprefix("torch.")
    assert repr(our_optimizer) == repr(their_optimizer)


@pytest.mark.parametrize(("name", "options"), PARAMS)
def test_goes_on_from_the_others_state(name, options):
    theirs, their_optimizer = trained("torch", name, options, steps=5)
    t, optim = modules("tidy")
    ours, our_optimizer = start(t, optim, name, options)
    state = their_optimizer.state_dict()
    state["state"] = {
        number: {key: t.tensor(value.numpy().copy()) for key, value in found.items()}
        for number, found in state["state"].items()
    }
    our_optimizer.load_state_dict(state)
    for p, q in zip(ours, theirs, strict=True):
        p.data = t.tensor(q.detach().numpy().copy())
    for grads in gradients(5):
        give(modules("torch")[0], theirs, grads)
        give(t, ours, grads)
        their_optimizer.step()
        our_optimizer.step()
    close(arrays(ours), arrays(theirs))


# What observers see

NOT_OURS = {"aten::item", "aten::detach"}  # no records here
MAKES_A_SCALAR = {
    "aten::to",
    "aten::lift_fresh",
    "aten::detach_",
    "aten::empty",
    "aten::empty_strided",
}


def their_events(name, options):
    torch, _ = modules("torch")
    params, optimizer = trained("torch", name, options, steps=1)
    give(torch, params, gradients(1)[0])
    with torch.profiler.profile() as profile:
        optimizer.step()
    seen = [e.name for e in profile.events() if e.cpu_parent and e.cpu_parent.cpu_parent is None]
    assert profile.events()[0].name == f"Optimizer.step#{name}.step"
    return [n for n in seen if n not in NOT_OURS | MAKES_A_SCALAR]


def our_events(name, options):
    params, optimizer = trained("tidy", name, options, steps=1)
    give(rt, params, gradients(1)[0])
    seen, depth = [], 0

    def enter(record):
        nonlocal depth
        seen.append((depth, record.name))
        depth += 1

    def leave(record, context):
        nonlocal depth
        depth -= 1

    with add_callback(enter, leave):
        optimizer.step()
    assert seen[0] == (0, f"Optimizer.step#{name}.step")
    # add and add_ with alpha are records of their own and of the product
    return [n for d, n in seen if d == 1 and n not in {*NOT_OURS, "aten::mul"}]


@pytest.mark.parametrize(("name", "options"), PARAMS)
def test_events(name, options):
    ours, theirs = our_events(name, options), their_events(name, options)
    if name == "Adagrad" and options.get("maximize") and not options["foreach"]:
        ours, theirs = sorted(ours), sorted(theirs)  # PyTorch counts the step first, only here
    assert ours == theirs


# Schedulers

SCHEDULES = {
    "step": lambda s, o: s.StepLR(o, 4, gamma=0.5),
    "milestones": lambda s, o: s.MultiStepLR(o, milestones=[0, 3, 3, 11], gamma=0.3),
    "constant": lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=7),
    "linear": lambda s, o: s.LinearLR(o, 0.1, end_factor=0.8, total_iters=9),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 7, eta_min=0.01),
    "lambda": lambda s, o: s.LambdaLR(o, lambda t: 1 / (1 + t)),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda t: 0.9**t, lambda t: 1.0]),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=31),
    "one cycle, linear": lambda s, o: s.OneCycleLR(
        o, [0.5, 1.0], epochs=4, steps_per_epoch=8, anneal_strategy="linear", pct_start=0.4
    ),
    "one cycle, three phases": lambda s, o: s.OneCycleLR(
        o, 0.5, total_steps=31, three_phase=True, base_momentum=0.8, max_momentum=0.9
    ),
    "sequence": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=5), s.CosineAnnealingLR(o, 10), s.StepLR(o, 3)], [5, 15]
    ),
    "two": lambda s, o: (s.LinearLR(o, 0.1, total_iters=5), s.ExponentialLR(o, 0.9)),
    "two more": lambda s, o: (s.StepLR(o, 3), s.CosineAnnealingLR(o, 6)),
}


def scheduled(library, make, optimizer_name, stop=None):
    """The groups' rates and momenta over 30 steps; at `stop`, the state goes to a new scheduler."""
    t, optim = modules(library)

    def fresh():
        groups = [{"params": [t.zeros(1)]}, {"params": [t.zeros(2)], "lr": 0.3}]
        optimizer = getattr(optim, optimizer_name)(groups, lr=0.2)
        made = make(optim.lr_scheduler, optimizer)
        return optimizer, made if isinstance(made, tuple) else (made,)

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


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_rates(name, optimizer):
    make = SCHEDULES[name]
    theirs = scheduled("torch", make, optimizer)
    close(scheduled("tidy", make, optimizer), theirs, 1e-12)
    close(scheduled("tidy", make, optimizer, stop=12), theirs, 1e-12)


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_scheduler_state(name):
    found = {}
    for library in ("torch", "tidy"):
        t, optim = modules(library)
        groups = [{"params": [t.zeros(1)]}, {"params": [t.zeros(2)], "lr": 0.3}]
        optimizer = optim.SGD(groups, lr=0.2)
        made = SCHEDULES[name](optim.lr_scheduler, optimizer)
        optimizer.step()
        found[library] = (made[0] if isinstance(made, tuple) else made).state_dict()
    ours, theirs = found["tidy"], found["torch"]
    for key in ("base_lrs", "last_epoch", "_last_lr", "gamma", "step_size", "T_max", "lr_lambdas"):
        if key in theirs:
            assert ours[key] == pytest.approx(theirs[key]) if key != "lr_lambdas" else True
    assert ("_schedulers" in ours) == ("_schedulers" in theirs)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
@pytest.mark.parametrize("cooldown", [0, 2])
def test_plateau(mode, threshold_mode, cooldown):
    rng = np.random.default_rng(3)
    metrics = (np.exp(-np.arange(30) / 5) + rng.random(30) * 0.1) * (1 if mode == "min" else -1)
    seen = []
    for library in ("torch", "tidy"):
        t, optim = modules(library)
        optimizer = optim.SGD(
            [{"params": [t.zeros(1)]}, {"params": [t.zeros(2)], "lr": 3.0}], lr=1.0
        )
        scheduler = optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, mode, 0.5, 1, 0.05, threshold_mode, cooldown, min_lr=[1e-2, 0.5]
        )
        rates = []
        for metric in metrics:
            optimizer.step()
            scheduler.step(metric)
            rates.append(scheduler.get_last_lr())
        seen.append(rates)
    close(seen[1], seen[0])
    assert seen[0][-1] != seen[0][0]


# Errors


def mistakes(t, optim):
    def leaf():
        return t.zeros(2, requires_grad=True)

    x = leaf()
    sgd = optim.SGD([x], lr=0.1)
    other = optim.SGD([leaf()], lr=0.1)
    s = optim.lr_scheduler
    return [
        lambda: optim.SGD([], lr=0.1),
        lambda: optim.SGD(x, lr=0.1),
        lambda: optim.SGD([x * 2], lr=0.1),
        lambda: optim.SGD([1.0], lr=0.1),
        lambda: optim.SGD([{"params": {x}}], lr=0.1),
        lambda: optim.SGD([{"params": [x]}, {"params": [x]}], lr=0.1),
        lambda: optim.SGD([x], lr=-0.1),
        lambda: optim.SGD([x], momentum=-1),
        lambda: optim.SGD([x], nesterov=True),
        lambda: optim.SGD([x], 0.1, nesterov=True, momentum=0.9, dampening=0.5),
        lambda: optim.Adam([x], betas=(1.0, 0.9)),
        lambda: optim.Adam([x], eps=-1.0),
        lambda: optim.RMSprop([x], alpha=-1.0),
        lambda: optim.Adagrad([x], lr_decay=-1.0),
        lambda: optim.Adam([x], learning=1),
        lambda: sgd.add_param_group([x]),
        lambda: sgd.add_param_group({"params": x}),
        lambda: sgd.load_state_dict({"state": {}, "param_groups": []}),
        lambda: sgd.load_state_dict(optim.SGD([leaf(), leaf()]).state_dict()),
        lambda: s.StepLR(1, 2),
        lambda: s.StepLR(sgd),
        lambda: s.LambdaLR(sgd, [abs, abs]),
        lambda: s.OneCycleLR(sgd, 0.1),
        lambda: s.ReduceLROnPlateau(sgd, factor=2.0),
        lambda: s.ReduceLROnPlateau(sgd, mode="mean"),
        lambda: s.SequentialLR(sgd, [s.StepLR(sgd, 2)], [3]),
        lambda: s.SequentialLR(sgd, [s.StepLR(other, 2)], []),
        lambda: s.StepLR(sgd, 2, last_epoch=3) if sgd.param_groups[0].pop("initial_lr", 1) else 0,
    ]


def raised(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def test_errors():
    theirs = [raised(call) for call in mistakes(*modules("torch"))]
    assert [raised(call) for call in mistakes(*modules("tidy"))] == theirs
