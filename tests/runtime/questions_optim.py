"""Questions about optimizers: the same steps and states; and what they and schedulers refuse."""

import copy

import numpy as np

from .observed import raised
from .questions_trees import recorded
from .tables import calls, options_of

# Beside those by default.
_OPTIONS = {
    "SGD": """
        lr=0.1, weight_decay=0.1; lr=0.1, momentum=0.9
        lr=0.1, momentum=0.9, dampening=0.5, maximize=True
        lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1
    """,
    "Adam": """
        lr=0.1, betas=(0.8, 0.9), weight_decay=0.1; lr=0.1, amsgrad=True, maximize=True
        lr=0.1, weight_decay=0.1, decoupled_weight_decay=True
    """,
    "AdamW": "lr=0.1, weight_decay=0.2, amsgrad=True, eps=0.001",
    "RMSprop": """
        lr=0.1, centered=True, maximize=True
        lr=0.1, alpha=0.8, momentum=0.9, weight_decay=0.1, centered=True
    """,
    "Adagrad": """
        lr=0.1, lr_decay=0.1, initial_accumulator_value=0.5, weight_decay=0.1
        lr=0.1, maximize=True
    """,
    "Adadelta": "lr=0.5, rho=0.8, eps=0.001, weight_decay=0.1; maximize=True",
    "Adamax": "lr=0.1, betas=(0.8, 0.9), weight_decay=0.1; lr=0.1, eps=0.001, maximize=True",
    "NAdam": """
        lr=0.1, betas=(0.8, 0.9), weight_decay=0.1, momentum_decay=0.1
        lr=0.1, weight_decay=0.1, decoupled_weight_decay=True, maximize=True
    """,
    "RAdam": """
        lr=0.1, betas=(0.8, 0.9), eps=0.001, weight_decay=0.1
        lr=0.1, weight_decay=0.1, decoupled_weight_decay=True, maximize=True
    """,
    "Rprop": "lr=0.1, etas=(0.4, 1.5), step_sizes=(0.02, 0.3); lr=0.1, maximize=True",
    "ASGD": "lr=0.1, lambd=0.1, alpha=0.5, t0=5, weight_decay=0.1; lr=0.1, maximize=True",
}
CASES = {name: [{}, *options_of(table)] for name, table in _OPTIONS.items()}
HOW = {"None": {"foreach": None}, "True": {"foreach": True}, "fused": {"fused": True}}
FUSED = "SGD Adam AdamW Adagrad".split()
VARIANTS = {
    f"{name}-{number}-{how}": (name, {**options, **HOW[how]})
    for name, several in CASES.items()
    for number, options in enumerate(several)
    for how in HOW
    if how != "fused" or name in FUSED
}
SHAPES = [(3, 2), (4,), ()]
STEPS = 20


def gradients(steps=STEPS, shapes=SHAPES):
    rng = np.random.default_rng(1)
    return [[rng.standard_normal(s) for s in shapes] for _ in range(steps)]


def start(t, name, options, dtype="float64", shapes=SHAPES):
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s) for s in shapes]
    params = [t.tensor(v, dtype=getattr(t, dtype)).requires_grad_() for v in values]
    return params, getattr(t.optim, name)(params, **options)


def give(t, params, grads):
    for p, g in zip(params, grads, strict=True):
        p.grad = t.tensor(g, dtype=p.dtype)


def trained(t, name, options, steps=STEPS, dtype="float64", shapes=SHAPES):
    params, optimizer = start(t, name, options, dtype, shapes)
    for grads in gradients(steps, shapes):
        give(t, params, grads)
        optimizer.step()
    return params, optimizer


def arrays(tensors):
    return [t.numpy(force=True) for t in tensors]


def numbers(t, name, options, steps=6, dtype="float32"):
    """Parameters, one of them empty, and states, by name, after some steps."""
    params, optimizer = trained(t, name, options, steps, dtype, [*SHAPES, (0,)])
    states = optimizer.state_dict()["state"].values()
    return params, [[[key, state[key]] for key in sorted(state)] for state in states]


def tolerance(question):
    """How far two libraries may be apart: the last bit of a power in float32 is the machine's."""
    name, options = question
    return 1e-6 if name == "ASGD" and options.get("foreach") else 1e-10


def steps_and_state(lib, question):
    """Parameters and state after some steps, how it is shown, and where another goes on from it."""
    name, options = question
    params, optimizer = trained(lib, name, options)
    state = copy.deepcopy(optimizer.state_dict())
    groups = [sorted((k, listed(v)) for k, v in group.items()) for group in state["param_groups"]]
    kept = [
        [number, sorted(each), [each[key] for key in sorted(each)]]
        for number, each in state["state"].items()
    ]
    found = [array.copy() for array in arrays(params)], groups, kept, repr(optimizer)
    other = getattr(lib.optim, name)(params, **options)
    other.load_state_dict(copy.deepcopy(state))
    for grads in gradients(5):
        give(lib, params, grads)
        other.step()
    return *found, arrays(params)


def listed(value):
    return list(value) if isinstance(value, tuple) else value


# What observers see of a step, but for what has no record here, what makes a scalar, and what one
# of both has beside an operator: the product of an addition with `alpha`, the way to an index.
_NOT_COMPARED = {
    f".aten::{name}"
    for name in "item detach to lift_fresh detach_ empty empty_strided fill_ mul unsqueeze".split()
}
# PyTorch counts the step first where others take the gradient's negative first, and the like.
_IN_ANOTHER_ORDER = [
    ("Adagrad", "maximize", None), ("Adadelta", "maximize", None), ("Adadelta", "maximize", True),
    ("RAdam", "maximize", True), ("Rprop", "maximize", True), ("NAdam", "foreach", True),
]  # fmt: skip


def operators(lib, question):
    """A step's name, and the operators that it calls itself."""
    params, optimizer = trained(lib, *question, steps=1)
    give(lib, params, gradients(1)[0])
    step, *below = recorded(lib, optimizer.step)
    return [step, *(line for line in below if line[1] != "." and line not in _NOT_COMPARED)]


def same_operators(question, ours, theirs):
    name, options = question
    if any((name, option, options.get("foreach")) in _IN_ANOTHER_ORDER for option in options):
        ours, theirs = sorted(ours), sorted(theirs)
    assert ours == theirs


# Errors


CAPTURABLE = "Adam AdamW RMSprop Adadelta Adamax NAdam RAdam Rprop ASGD".split()
MISTAKES = [
    *calls("""
# options
optim.SGD([], lr=0.1); optim.SGD(x, lr=0.1); optim.SGD([x * 2], lr=0.1); optim.SGD([1.0], lr=0.1)
optim.SGD([{'params': {x}}], lr=0.1); optim.SGD([{'params': [x]}, {'params': [x]}], lr=0.1)
optim.SGD([x], lr=-0.1); optim.SGD([x], momentum=-1); optim.SGD([x], nesterov=True)
optim.SGD([x], 0.1, nesterov=True, momentum=0.9, dampening=0.5); optim.Adam([x], betas=(1.0, 0.9))
optim.Adam([x], eps=-1.0); optim.RMSprop([x], alpha=-1.0); optim.Adagrad([x], lr_decay=-1.0)
optim.Adam([x], learning=1)
optim.Adam([x], 0.1, (0.9, 0.99), 1e-8, 0.0, False, 1, 2, 3, 4, 5, 6, 7, 8, 9)
optim.Adam([x], lr=t.ones(2)); optim.RMSprop([x], fused=True); optim.ASGD([x], alpha=-1.0)
optim.ASGD([x], weight_decay=-1.0); optim.Adadelta([x], rho=1.5); optim.Adadelta([x], eps=-1.5)
optim.Adamax([x], betas=(0.9, 1.0)); optim.Adamax([x], fused=True)
optim.NAdam([x], momentum_decay=-1.0); optim.RAdam([x], weight_decay=-1.0)
optim.RAdam([x], lr=t.ones(2)); optim.Rprop([x], etas=(0.5, 0.9))
optim.Rprop([x], etas=(0.0, 1.9)); optim.Rprop([x], weight_decay=0.1)
optim.SparseAdam([x], lr=0.0); optim.LBFGS([x], lr=-1.0); optim.LBFGS([x], maximize=True)
optim.LBFGS([{'params': [x]}, {'params': [leaf()]}]); optim.LBFGS([x]).step()
searched(optim.LBFGS([x], line_search_fn='wolfe'))
# groups and states
sgd.add_param_group([x])
sgd.add_param_group({'params': x}); sgd.load_state_dict({'state': {}, 'param_groups': []})
sgd.load_state_dict(optim.SGD([leaf(), leaf()]).state_dict())
# schedulers
s.StepLR(1, 2); s.StepLR(sgd)
s.LambdaLR(sgd, [abs, abs]); s.OneCycleLR(sgd, 0.1); s.OneCycleLR(sgd, 0.1, total_steps=-1)
s.OneCycleLR(sgd, 0.1, total_steps=5, pct_start=2.0)
s.OneCycleLR(sgd, 0.1, total_steps=5, anneal_strategy='sine')
s.OneCycleLR(optim.Rprop([leaf()]), 0.1, total_steps=5); s.CyclicLR(sgd, 0.1)
s.CyclicLR(sgd, 0.1, [0.1, 0.2]); s.CyclicLR(sgd, 0.1, 0.2, mode='round')
s.CyclicLR(optim.Adagrad([leaf()]), 0.1, 0.2); s.CosineAnnealingWarmRestarts(sgd, 0)
s.CosineAnnealingWarmRestarts(sgd, 2.5); s.CosineAnnealingWarmRestarts(sgd, 2, T_mult=0)
s.CosineAnnealingWarmRestarts(sgd, 2, eta_min='low')
s.CosineAnnealingWarmRestarts(sgd, 2).step(-1); s.ConstantLR(sgd, factor=1.5)
s.LinearLR(sgd, start_factor=0); s.LinearLR(sgd, end_factor=2.0); s.LRScheduler(sgd)
s.SequentialLR(sgd, [], []); s.ReduceLROnPlateau(sgd, factor=2.0)
s.ReduceLROnPlateau(sgd, mode='mean'); s.SequentialLR(sgd, [s.StepLR(sgd, 2)], [3])
s.SequentialLR(sgd, [s.StepLR(other, 2)], []); s.StepLR(sgd, 2, last_epoch=3)
    """),
    *[f"stepped(optim.{name}, capturable=True)" for name in CAPTURABLE],
    *[f"stepped(optim.{name}, fused=None)" for name in CAPTURABLE],
    *[f"optim.{name}([x], foreach=True, fused=True)" for name in FUSED],
    *[f"stepped(optim.{name}, t.complex64, fused=True)" for name in FUSED],
]


def mistake(t, code):
    """The class of the error, or nothing."""
    optim = t.optim

    def leaf(dtype=t.float32):
        return t.zeros(2, dtype=dtype, requires_grad=True)

    def stepped(make, dtype=t.float32, **options):
        p = leaf(dtype)
        p.grad = t.ones_like(p)
        make([p], **options).step()

    def searched(optimizer):
        optimizer.step(lambda: (x - 1).square().sum().backward() or t.ones(()))

    x = leaf()
    names = {"t": t, "optim": optim, "s": optim.lr_scheduler, "leaf": leaf, "stepped": stepped}
    names |= {"searched": searched, "x": x, "sgd": optim.SGD([x], lr=0.1)}
    names["other"] = optim.SGD([leaf()], lr=0.1)
    return raised(lambda: eval(code, names))  # noqa: S307
