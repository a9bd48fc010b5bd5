"""Questions about what is built on modules: parametrizations, containers, hooks."""

# ruff: noqa: ARG005

import copy
import pickle
from collections import namedtuple

import numpy as np

from . import questions_functions
from .observed import raised
from .tables import functions_of

Pair = namedtuple("Pair", "one two")


def filled(lib, module):
    """With weights that are the same in both libraries."""
    stream = np.random.default_rng(3)
    for value in module.state_dict().values():
        if value.is_floating_point():
            drawn = stream.uniform(0.2, 1, tuple(value.shape)).astype(np.float32)
            value.copy_(lib.tensor(drawn))
    return module


def image(lib, *shape):
    values = np.random.default_rng(4).standard_normal(shape).astype(np.float32)
    return lib.tensor(values, requires_grad=True)


def trained(lib, module, x, steps=2):
    """Outputs over some steps, then what is learned, and its gradients."""
    optimizer, found = lib.optim.SGD([*module.parameters(), lib.zeros(1)], 0.1), []
    for _ in range(steps):
        optimizer.zero_grad()
        out = module(x)
        (out * out).sum().sqrt().backward()
        optimizer.step()
        found.append(out)
    state = [[k, v] for k, v in module.state_dict().items()]
    return [*found, state, [p.grad for p in module.parameters()], x.grad]


def described(module):
    return [repr(module), [[k, list(v.shape)] for k, v in module.state_dict().items()]]


def parametrized_norms(lib):
    nn, new = lib.nn, lib.nn.utils.parametrizations
    makers = (
        lambda: (new.weight_norm(nn.Linear(3, 2)), (4, 3)),
        lambda: (new.weight_norm(nn.Conv2d(2, 3, 2), dim=None), (1, 2, 3, 3)),
        lambda: (new.weight_norm(nn.Conv1d(2, 3, 2), "weight", 1), (1, 2, 3)),
        lambda: (new.spectral_norm(nn.Linear(3, 2)), (4, 3)),
        lambda: (new.spectral_norm(nn.Conv2d(2, 3, 2), n_power_iterations=2), (1, 2, 3, 3)),
        lambda: (new.spectral_norm(nn.ConvTranspose2d(2, 3, 2)), (1, 2, 3, 3)),
        lambda: (new.spectral_norm(nn.LayerNorm(3)), (2, 3)),
    )
    for make in makers:
        module, shape = make()
        yield described(module)
        filled(lib, module)
        twin = copy.deepcopy(module)
        yield twin.eval()(image(lib, *shape)), type(twin).__name__
        yield trained(lib, module, image(lib, *shape))
        module.eval()
        yield module(image(lib, *shape))
        yield list(twin.state_dict())


def hooked_norms(lib):
    nn, old = lib.nn, lib.nn.utils
    makers = (
        lambda: (old.weight_norm(nn.Linear(3, 2)), (4, 3), old.remove_weight_norm),
        lambda: (old.weight_norm(nn.Conv2d(2, 3, 2), dim=1), (1, 2, 3, 3), old.remove_weight_norm),
        lambda: (old.spectral_norm(nn.Linear(3, 2)), (4, 3), old.remove_spectral_norm),
        lambda: (
            old.spectral_norm(nn.ConvTranspose1d(2, 3, 2), n_power_iterations=2),
            (1, 2, 3),
            old.remove_spectral_norm,
        ),
    )
    for make in makers:
        module, shape, remove = make()
        yield described(module)
        filled(lib, module)
        yield trained(lib, module, image(lib, *shape))
        module.eval()
        yield module(image(lib, *shape))
        remove(module)
        yield described(module), module(image(lib, *shape))
        yield raised(lambda module=module, remove=remove: remove(module))
    state = filled(lib, old.weight_norm(nn.Linear(3, 2))).state_dict()
    newer = lib.nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    yield repr(newer.load_state_dict(state)), newer(image(lib, 2, 3)), len(state)
    yield raised(lambda: old.spectral_norm(nn.Linear(2, 2), n_power_iterations=0))


def own_parametrizations(lib):
    nn, parametrize = lib.nn, lib.nn.utils.parametrize

    def made(name, forward, inverse=None):
        methods = (
            {"forward": forward, "right_inverse": inverse} if inverse else {"forward": forward}
        )
        named = {key: lambda _, x, call=call: call(x) for key, call in methods.items()}
        return type(name, (nn.Module,), named)()

    def one_way(a):
        raise NotImplementedError

    def mirrored(x):
        return x.triu() + x.triu(1).transpose(-1, -2)

    add, twice = parametrize.register_parametrization, made("Twice", lambda x: x * 2)
    module = filled(lib, nn.Linear(3, 3))
    add(module, "weight", made("Symmetric", mirrored, lambda a: a.triu()))
    yield described(module), module.weight, module.parametrizations.weight.original
    yield repr(module), module.weight, len(module.parametrizations["weight"])
    yield parametrize.is_parametrized(module), parametrize.is_parametrized(module, "bias")
    yield [n for n, _ in module.named_parameters()], trained(lib, module, image(lib, 2, 3))
    with parametrize.cached():
        yield module.weight is module.weight
    yield module.weight is module.weight
    norm = add(nn.BatchNorm1d(3), "running_mean", twice)
    yield described(norm)
    exp = made("OneWay", lambda x: x.exp(), one_way)
    yield add(filled(lib, nn.Linear(2, 2)), "weight", exp).weight
    # What is parametrized takes tensors, through `right_inverse`, and no other parameter.
    module = add(nn.Linear(2, 2), "weight", made("Double", lambda x: x * 2, lambda x: x / 2))
    own = module.parametrizations.weight.original
    yield raised(lambda: setattr(module, "weight", nn.Parameter(lib.ones(2, 2))))
    module.weight = lib.ones(2, 2)
    yield own is module.parametrizations.weight.original, own, module.weight
    yield raised(lambda: setattr(module, "weight", lib.ones(2, 2).double()))
    calls = (
        lambda: add(module, "none", twice),
        lambda: add(nn.Linear(2, 2), "weight", made("Wrong", lambda x: x[0])),
        lambda: add(nn.Linear(2, 2), "weight", made("Wider", lambda x: x, lambda a: a.double())),
        lambda: copy.copy(norm).__reduce_ex__(2),
    )
    yield [raised(call) for call in calls]


def copies_of_parameters(lib):
    nn, data = lib.nn, lib.tensor([1.0, 2.0])
    p = nn.Parameter(data)
    (p * 2).sum().backward()
    yield p.requires_grad, p.is_leaf, p.data_ptr() == data.data_ptr(), repr(p)[:39]
    yield type(p * 2) is lib.Tensor, p.grad, copy.deepcopy(p).grad
    frozen = pickle.loads(pickle.dumps(nn.Parameter(lib.arange(3), requires_grad=False)))  # noqa: S301
    yield type(frozen).__name__, frozen.requires_grad, frozen
    module = nn.BatchNorm1d(3)
    weight = module.weight
    weight.grad = lib.ones(3)
    yield module.double() is module, module.weight is weight, weight.grad.double() is weight.grad
    yield [str(each.dtype)[-5:] for each in module.state_dict().values()]
    yield str(nn.Linear(2, 2, dtype=lib.float64).to("cpu").weight.dtype)[-7:]


def tensors_of_a_class_of_ones_own(lib):
    """With a constructor that takes more."""

    class Weighed(lib.Tensor):
        def __new__(cls, data, weight=1.0):
            made = lib.Tensor._make_subclass(cls, data.detach(), True)
            made.weight = weight
            return made

    class Scaled(lib.nn.Parameter):
        def __new__(cls, data, scale, requires_grad=True):
            made = super().__new__(cls, data, requires_grad)
            made.scale = scale
            return made

    one, module = Weighed(lib.ones(2), weight=3.0), lib.nn.Module()
    (one * one.weight).sum().backward()
    module.p = Scaled(lib.ones(2), 4.0)
    yield one.grad, [[type(p).__name__, p.scale, p.requires_grad] for p in module.parameters()]
    yield raised(lambda: lib.nn.Parameter(lib.ones(2), scale=4.0))
    yield raised(lambda: lib.Tensor([1], scale=4.0))


def backward_hooks_of_named_tuples(lib):
    class Two(lib.nn.Module):
        def forward(self, x):
            return Pair(x * 2, x + 1)

    model, seen = Two(), []
    model.register_full_backward_hook(lambda m, given, grads: seen.append([len(given), len(grads)]))
    out = model(lib.ones(2, requires_grad=True))
    out.two.sum().backward()
    return [type(out).__name__, seen]


def parameter_containers(lib):
    nn = lib.nn
    held = nn.ParameterList([lib.ones(2, 3), nn.Parameter(lib.zeros(2)), 3, "word"])
    yield repr(held), len(held), list(held.state_dict()), held[-1], held[1] is held[-3]
    held.append(lib.ones(1)).extend([nn.Parameter(lib.zeros(1))])
    held += [lib.ones(2)]
    held[0] = lib.zeros(2)
    yield repr(held), [type(x).__name__ for x in held], [len(held[1:3]), type(held[1:3]).__name__]
    yield [raised(lambda: held[9]), raised(lambda: held.extend(3)), raised(lambda: held["a"])]
    pairs = nn.ParameterDict({"a": lib.ones(2, 3), "b": nn.Parameter(lib.zeros(2)), "c": "word"})
    yield repr(pairs), len(pairs), list(pairs), list(pairs.state_dict()), "a" in pairs
    pairs["d"] = lib.ones(1, dtype=lib.float64)
    pairs.update({"e": lib.ones(1)})
    del pairs["a"]
    yield repr(pairs), pairs.pop("b"), list(pairs.keys()), pairs.get("none"), pairs.get("c")
    yield [list(pairs.copy()), [k for k, _ in pairs.items()], len(list(pairs.values()))]
    yield (
        list(nn.ParameterDict({"b": lib.ones(1), "a": lib.ones(1)})),
        list(nn.ParameterDict([("b", lib.ones(1)), ("a", lib.ones(1))])),
    )
    yield [raised(lambda: pairs["none"]), raised(lambda: pairs.pop("none")), hasattr(pairs, "a")]
    held = nn.ParameterDict([("b", lib.ones(1)), ("a", lib.zeros(2))])
    held["c"] = lib.ones(3)
    yield list(held.copy()), list(reversed(held)), type(held.setdefault("z")).__name__
    yield held.setdefault("q", lib.ones(2)), held.setdefault("b", lib.zeros(9)), held.popitem()
    yield list(held | {"e": lib.ones(1), "d": 2}), list({"y": 1} | held), list(held)
    held |= nn.ParameterDict([("y", lib.ones(1)), ("x", lib.ones(1))])
    yield list(held), dict(held.fromkeys("ba", 4))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.ParameterList([nn.Parameter(lib.ones(3) * i) for i in range(3)])
            self.d = nn.ParameterDict({"k": lib.ones(3)})

        def forward(self, x):
            return sum(x * w for w in self.w) + self.d["k"] * x

    net = Net()
    yield list(net.state_dict()), trained(lib, copy.deepcopy(net), image(lib, 2, 3))


def state_hooks(lib):
    nn, seen = lib.nn, []
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    first = net[0]
    first.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append(["pre", prefix, keep]))
    first.register_state_dict_post_hook(
        lambda m, state, prefix, meta: state.update({prefix + "more": lib.ones(1)})
    )
    state = net.state_dict(keep_vars=True)
    yield list(state), seen[:]

    def renamed(m, state, prefix, *rest):
        seen.append([prefix, rest[1], len(rest)])
        state[prefix + "bias"] = state.pop(prefix + "older") + 1

    net[2].register_load_state_dict_pre_hook(renamed)
    post = net.register_load_state_dict_post_hook(
        lambda m, keys: (seen.append([*map(list, keys)]), keys.unexpected_keys.clear())[0]
    )
    given = {k: v for k, v in state.items() if k != "2.bias"} | {"2.older": lib.zeros(1)}
    yield repr(net.load_state_dict(given)), net[2].bias, sorted(given), seen[2:]
    post.remove()
    yield raised(lambda: net.load_state_dict(given))


def extra_state(lib):
    """What modules save beside tensors, and how it comes back."""

    class Counter(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = 0

        def get_extra_state(self):
            return {"seen": self.seen}

        def set_extra_state(self, state):
            self.seen = state["seen"]

    class Own(lib.nn.Linear):
        factor = 1.0

        def _save_to_state_dict(self, destination, prefix, keep_vars):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "factor"] = lib.tensor(self.factor)

        def _load_from_state_dict(self, state_dict, prefix, *rest):
            self.factor = state_dict.pop(prefix + "factor").item()
            super()._load_from_state_dict(state_dict, prefix, *rest)

    def made():
        return lib.nn.Sequential(Counter(), lib.nn.Sequential(Own(2, 1), Counter()))

    first, second = made(), made()
    first[0].seen, first[1][1].seen, first[1][0].factor = 3, 4, 0.5
    state = first.state_dict()
    found = [list(state), [state[f"{n}._extra_state"]["seen"] for n in ("0", "1.1")]]
    loaded = second.load_state_dict(dict(state))
    found += [second[0].seen, second[1][1].seen, second[1][0].factor, list(loaded.missing_keys)]
    lacking = {k: v for k, v in state.items() if k != "0._extra_state"}
    found.append(list(second.load_state_dict(dict(lacking), strict=False).missing_keys))
    more = {**state, "new": state["1.0.bias"], "1.0.old.x": 1, "1.9.weight": 2}
    loaded = lib.nn.Sequential(Counter(), lib.nn.Sequential(lib.nn.Linear(2, 1), Counter()))
    try:
        loaded.load_state_dict(more)
    except RuntimeError as error:
        found += [word in str(error) for word in ("1.0.factor", "new", "1.0.old.x", "1.9.weight")]
    return found


def registration_hooks(lib):
    """They are called for all modules, and may give them something else."""
    home, seen = lib.nn.modules.module, []
    kinds = "parameter", "module", "buffer"

    def note(module, name, given):
        seen.append([type(module).__name__, name, type(given).__name__])
        return lib.nn.Identity() if name == "other" else None

    hooks = [getattr(home, f"_global_{each}_registration_hooks") for each in kinds]
    for each in hooks:
        each[id(note)] = note
    net = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.BatchNorm1d(3))
    net.other = lib.nn.ReLU()
    net[0].weight = lib.nn.Parameter(lib.ones(3, 2))
    for each in hooks:
        del each[id(note)]
    net.add_module("last", lib.nn.ReLU())
    return [sorted(seen), repr(net)]  # a norm registers its buffers earlier here


SCRIPTS = [*functions_of(globals(), "(lib)"), *questions_functions.SCRIPTS]
