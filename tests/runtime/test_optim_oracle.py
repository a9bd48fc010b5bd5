"""Optimizers go on from PyTorch's state, and observers see PyTorch's operators in a step."""

import pytest

import tidy.runtime as rt
from tidy.runtime.observe.callbacks import add_callback

from .questions_optim import VARIANTS, arrays, close, give, gradients, start, tolerance, trained

pytestmark = pytest.mark.oracle

each_variant = pytest.mark.parametrize(("name", "options"), VARIANTS.values(), ids=VARIANTS)


@each_variant
def test_goes_on_from_the_others_state(name, options):
    torch = pytest.importorskip("torch")
    theirs, their_optimizer = trained(torch, name, options, steps=5)
    ours, our_optimizer = start(rt, name, options)
    state = their_optimizer.state_dict()
    state["state"] = {
        number: {key: rt.tensor(value.numpy().copy()) for key, value in found.items()}
        for number, found in state["state"].items()
    }
    our_optimizer.load_state_dict(state)
    for p, q in zip(ours, theirs, strict=True):
        p.data = rt.tensor(q.detach().numpy().copy())
    for grads in gradients(5):
        give(torch, theirs, grads)
        give(rt, ours, grads)
        their_optimizer.step()
        our_optimizer.step()
    close(arrays(ours), arrays(theirs), tolerance((name, options)))


# What observers see

NOT_OURS = {"aten::item", "aten::detach"}  # no records here
MAKES_A_SCALAR = {
    f"aten::{name}" for name in "to lift_fresh detach_ empty empty_strided fill_".split()
}
NOT_COMPARED = {  # of a step's own operators
    *NOT_OURS,
    "aten::mul",  # add and add_ with alpha are records of their own and of the product
    "aten::unsqueeze",  # both index tensors without dims by ways of their own
}
# PyTorch counts the step first where others take the gradient's negative first, and the like.
IN_ANOTHER_ORDER = [
    ("Adagrad", "maximize", None),
    ("Adadelta", "maximize", None),
    ("Adadelta", "maximize", True),
    ("RAdam", "maximize", True),
    ("Rprop", "maximize", True),
    ("NAdam", "foreach", True),
]


def their_events(name, options):
    torch = pytest.importorskip("torch")
    params, optimizer = trained(torch, name, options, steps=1)
    give(torch, params, gradients(1)[0])
    with torch.profiler.profile() as profile:
        optimizer.step()
    seen = [e.name for e in profile.events() if e.cpu_parent and e.cpu_parent.cpu_parent is None]
    assert profile.events()[0].name == f"Optimizer.step#{name}.step"
    return [n for n in seen if n not in NOT_COMPARED | MAKES_A_SCALAR]


def our_events(name, options):
    params, optimizer = trained(rt, name, options, steps=1)
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
    return [n for d, n in seen if d == 1 and n not in NOT_COMPARED | MAKES_A_SCALAR]


@each_variant
def test_events(name, options):
    ours, theirs = our_events(name, options), their_events(name, options)
    if any((name, option, options.get("foreach")) in IN_ANOTHER_ORDER for option in options):
        ours, theirs = sorted(ours), sorted(theirs)
    assert ours == theirs
