"""Questions about what a training does around its layers: optimizers, schedulers, scaled losses."""

# ruff: noqa: ARG005

import copy
import pickle
import warnings

from .observed import raised
from .questions_optim import HOW
from .questions_trees import recorded
from .tables import functions_of


def _leaf(lib, *values, grad=1.0):
    made = lib.tensor(list(values), requires_grad=True)
    made.grad = lib.full_like(made, grad).detach()
    return made


def updates(lib):
    """In place and without a graph; what has no gradient is left alone, and dtypes are apart."""
    for how in HOW.values():
        x = _leaf(lib, 1.0, 2.0)
        version, place = x._version, x.data_ptr()
        lib.optim.SGD([x], lr=0.5, **how).step()
        changes = None if "fused" in how else x._version - version
        yield x, changes, x.data_ptr() == place, x.requires_grad, x.grad_fn
        x, y = _leaf(lib, 1.0), lib.tensor([1.0], dtype=lib.float64, requires_grad=True)
        optimizer = lib.optim.Adam([x, y], lr=0.1, **how)
        optimizer.step()
        yield x, y, [each is x for each in optimizer.state]
        y.grad = lib.ones_like(y).detach()
        optimizer.step()
        yield x, y, [optimizer.state[p]["step"] for p in (x, y)]
        for again in (copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))):  # noqa: S301
            copied = again(optimizer)
            own = copied.param_groups[0]["params"]
            for p in own:
                p.grad = lib.ones_like(p).detach()
            copied.step()
            yield own, own[0] is x, repr(copied) == repr(optimizer)
    lib.optim.SGD([x], lr=lib.tensor(0.25)).step()
    yield x


def zeroed_gradients(lib):
    for foreach in (None, True):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        optimizer = lib.optim.SGD([x], lr=0.1, foreach=foreach)
        (x * x).sum().backward(create_graph=True)
        grad = x.grad
        optimizer.zero_grad(set_to_none=False)
        yield x.grad is grad, grad, grad.requires_grad
        x.grad = lib.ones(4)[:2]  # a view
        optimizer.zero_grad(set_to_none=False)
        yield x.grad
        optimizer.zero_grad()
        yield x.grad


def steps_that_are_watched(lib):
    optimizer, seen = lib.optim.SGD([_leaf(lib, 1.0)], lr=0.5), []
    with lib.no_grad():
        optimizer.step(lambda: seen.append(lib.is_grad_enabled()))
        yield seen, lib.is_grad_enabled()

    class Descent(lib.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @lib.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(p.grad * group["lr"])

    x = _leaf(lib, 1.0)
    own = Descent([x], lr=0.25)
    own.register_step_post_hook(lambda o, a, k: seen.append(o is own))
    yield recorded(lib, own.step)[0], recorded(lib, own.zero_grad), x, seen
    x, seen = _leaf(lib, 1.0), []
    optimizer = lib.optim.SGD([x], lr=0.5)
    optimizer.register_step_pre_hook(lambda o, a, k: seen.append([[*a] == [o], x.item(), [*k]]))
    handle = optimizer.register_step_pre_hook(lambda o, a, k: (a, {"closure": lambda: "loss"}))
    optimizer.register_step_post_hook(lambda o, a, k: seen.append(["post", x.item(), list(k)]))
    yield optimizer.step(), seen
    handle.remove()
    handle = optimizer.register_step_pre_hook(lambda o, a, k: 3)
    yield raised(optimizer.step)
    handle.remove()
    yield optimizer.step()


def groups_of_parameters(lib):
    x, y, z, w = (_leaf(lib, 1.0) for _ in range(4))
    optimizer = lib.optim.SGD([{"params": x}, {"params": [y], "lr": 0.5}], lr=0.1)
    optimizer.step()
    optimizer.add_param_group({"params": z, "momentum": 0.9})
    yield x, y, [g["momentum"] for g in optimizer.param_groups]
    yield raised(lambda: optimizer.add_param_group({"params": [z]}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        optimizer.add_param_group({"params": [w, w]})
    yield ["duplicate" in str(each.message) for each in caught]


def schedulers_of_ones_own(lib):
    class Halving(lib.optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            return [base / 2**self.last_epoch for base in self.base_lrs]

    optimizer = lib.optim.SGD([_leaf(lib, 1.0)], lr=0.8)
    scheduler = Halving(optimizer)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scheduler.step()
        optimizer.step()
        scheduler.step()
    yield scheduler.get_last_lr(), optimizer.param_groups[0]["lr"]
    yield ["before `optimizer.step" in str(each.message) for each in caught]


def scaled_gradients(lib):
    """Factors and weights after each of some steps, in some of which a gradient overflows."""
    scaler = lib.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
    weight = lib.tensor([1.0, -2.0, 3.0], requires_grad=True)
    optimizer = lib.optim.SGD([weight], lr=0.1)
    for number in range(8):
        optimizer.zero_grad()
        loss = (weight * weight).sum() * (float("inf") if number in (2, 3) else 1.0)
        scaler.scale(loss).backward()
        if number == 5:
            scaler.unscale_(optimizer)
            yield raised(lambda: scaler.unscale_(optimizer))
        scaler.step(optimizer)
        if number == 5:
            yield raised(lambda: scaler.step(optimizer))
        scaler.update()
        yield scaler.get_scale(), weight.tolist()
    other = lib.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    yield sorted(other.state_dict().items()), other.state_dict() == scaler.state_dict()


SCRIPTS = functions_of(globals(), "(lib)")
