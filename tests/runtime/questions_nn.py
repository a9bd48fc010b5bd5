"""Questions about nn: the same weights give the same outputs, gradients, names and errors."""

# ruff: noqa: ARG005, S307

import copy

import numpy as np

from .tables import calls


def data(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def call(lib, module, inputs):
    """Outputs, gradients of inputs and of parameters, and the state afterwards."""
    tensors = [lib.tensor(x) for x in inputs]
    for x in tensors:
        if x.is_floating_point():
            x.requires_grad_()
    out = module(*tensors)
    outs = [o for o in (out if isinstance(out, tuple) else (out,)) if o is not None]
    total = sum(
        (o * lib.tensor(data(*o.shape, seed=5))).sum() for o in outs if o.is_floating_point()
    )
    total.backward()
    found = [o.detach().numpy() for o in outs]
    found += [x.grad.numpy() for x in tensors if x.is_floating_point()]
    found += [p.grad.numpy() for _, p in module.named_parameters()]
    return found + [v.numpy() for v in module.state_dict().values()]


X24, X34, IMAGE = data(2, 4), data(2, 3, 4), data(2, 4, 6, 6)
INDEX, CLASSES, SHARES = np.array([[0, 2], [1, 0]]), np.array([1, 3]), np.abs(X24) / 9
# Constructors, and what the layers are called with.
_ROWS = calls("""
Linear(4, 3) of X24; Identity(1, a=2) of X24; Linear(4, 3, bias=False) of X34; Flatten() of X34
Flatten(0, 1) of X34; Embedding(3, 4) of INDEX; Embedding(3, 4, padding_idx=-3) of INDEX
Conv1d(3, 6, 2, stride=2, padding=1, groups=3) of X34
Conv1d(3, 2, 3, padding='same', dilation=2) of X34; Conv2d(4, 3, 3) of IMAGE
Conv2d(4, 2, (3, 2), (2, 1), (0, 1), 2, 2, bias=False) of IMAGE
Conv2d(4, 2, 3, padding='valid') of IMAGE
Conv2d(4, 2, 3, padding=(2, 1), padding_mode='reflect') of IMAGE
Conv2d(4, 2, 3, padding=(2, 1), padding_mode='replicate') of IMAGE
Conv2d(4, 2, 3, padding=(2, 1), padding_mode='circular') of IMAGE
Conv1d(3, 2, 4, padding='same', padding_mode='circular', bias=False) of X34
Conv2d(4, 2, 3, padding='valid', padding_mode='reflect', stride=2) of IMAGE
EmbeddingBag(3, 4, mode='sum') of INDEX; EmbeddingBag(3, 4, padding_idx=2) of INDEX[0], np.arange(2)
Bilinear(4, 4, 3) of X24, X24 * 2; InstanceNorm2d(4, affine=True, track_running_stats=True) of IMAGE
MaxPool1d(2) of X34; MaxPool2d(3, 2, padding=1, ceil_mode=True) of IMAGE
MaxPool2d((2, 3), return_indices=True) of IMAGE; AvgPool1d(2, padding=1) of X34
AvgPool2d(3, 2, 1, count_include_pad=False) of IMAGE; AvgPool2d(2, divisor_override=3) of IMAGE
AdaptiveAvgPool1d(2) of X34; AdaptiveAvgPool2d((None, 4)) of IMAGE; BatchNorm1d(4) of X24
BatchNorm1d(3, momentum=None, affine=False) of X34; BatchNorm2d(4, eps=1e-3, momentum=0.3) of IMAGE
BatchNorm2d(4, track_running_stats=False) of IMAGE; BatchNorm2d(4).eval() of IMAGE
LayerNorm(4) of X34; LayerNorm([3, 4], bias=False) of X34
LayerNorm((4,), elementwise_affine=False) of X34; RMSNorm(4) of X34
RMSNorm((3, 4), eps=1e-4, elementwise_affine=False) of X34; GroupNorm(2, 4) of IMAGE
GroupNorm(1, 4, affine=False) of IMAGE; Dropout(0.3).eval() of X24
Dropout(0.0, inplace=False) of X24; ReLU() of X24; GELU() of X24; SiLU() of X24; Sigmoid() of X24
Tanh() of X24; LogSigmoid() of X24; LeakyReLU(0.2) of X24; ELU(0.5) of X24; GELU('tanh') of X24
Softplus(2, 3) of X24; Softmax(-1) of X24; LogSoftmax(dim=1) of X24; Hardtanh(-0.5, 0.7) of X24
MSELoss(reduction='mean') of X24, X24 * 2; MSELoss(reduction='sum') of X24, X24 * 2
MSELoss(reduction='none') of X24, X24 * 2; L1Loss(reduction='none') of X24, X24 * 2
SmoothL1Loss(beta=0.5) of X24, X24 * 2; HuberLoss('sum', 0.4) of X24, X24 * 2
KLDivLoss(reduction='batchmean', log_target=True) of X24, X24 * 2
NLLLoss(ignore_index=1) of X24, CLASSES; CrossEntropyLoss() of X24, CLASSES
CrossEntropyLoss(label_smoothing=0.1, reduction='sum') of X24, CLASSES
BCEWithLogitsLoss() of X24, SHARES; BCELoss() of SHARES, np.abs(X24) / 8
Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Sequential(nn.Linear(5, 2))) of X24
""")
LAYERS = [(row.split(" of ")[0], list(eval(f"({row.split(' of ')[1]},)"))) for row in _ROWS]


def layer(lib, question):
    """What it is called, what is in its state, and what `call` gives with chosen weights."""
    text, inputs = question
    module = eval(text if text.startswith("nn.") else "nn." + text, {"nn": lib.nn})
    state = module.state_dict()
    arrays = {
        k: np.abs(data(*v.shape, seed=n)) + 0.1 if v.is_floating_point() else v.numpy()
        for n, (k, v) in enumerate(state.items())
    }
    module.load_state_dict({k: lib.tensor(v) for k, v in arrays.items()})
    shapes = [(k, tuple(v.shape)) for k, v in state.items()]
    return repr(module), shapes, call(lib, module, inputs)


IN_PLACE = ["ReLU(True)", "SiLU(True)", "LeakyReLU(inplace=True)", "ELU(1.0, True)"]


def in_place(lib, text):
    """Whether an activation writes to its input, and what it and the gradient are."""
    module, x = eval("nn." + text, {"nn": lib.nn}), lib.tensor(X24, requires_grad=True)
    y = x * 2
    out = module(y)
    out.sum().backward()
    return repr(module), out.data_ptr() == y.data_ptr(), y, x.grad


# Scripts whose record is the same with both.


def model(lib):
    nn = lib.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)
            self.act = nn.ReLU()
            self.register_buffer("scale", lib.ones(3))
            self.register_buffer("hidden", lib.zeros(1), persistent=False)
            self.register_parameter("none", None)

        def forward(self, x):
            return self.act(self.fc(x)) * self.scale

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Block()
            self.blocks = nn.ModuleList([Block(), Block(), nn.ReLU(), nn.ReLU()])
            self.heads = nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.Identity()})
            self.gain = nn.Parameter(lib.ones(2))
            self.tied = self.heads["a"]
            self.empty = nn.Sequential()

        def forward(self, x):
            return self.heads["a"](self.blocks[1](self.first(x))) * self.gain

        def extra_repr(self):
            return "a model"

    return Net()


def names_and_text(lib):
    net = model(lib)
    yield repr(net)
    for one in (True, False):
        yield [n for n, _ in net.named_parameters(remove_duplicate=one)]
        yield [n for n, _ in net.named_buffers("p", remove_duplicate=one)]
        yield [n for n, _ in net.named_modules(remove_duplicate=one)]
    yield [n for n, _ in net.named_children()]
    yield [n for n, _ in net.named_parameters(recurse=False)]
    yield list(net.state_dict(prefix="x."))
    yield [type(v).__name__ for v in net.state_dict(keep_vars=True).values()]
    order = []
    net.apply(lambda m: order.append(type(m).__name__))
    yield order
    net.eval()
    yield [m.training for m in net.modules()]
    net.first.train()
    yield [m.training for m in net.modules()]
    net.requires_grad_(False)
    yield [p.requires_grad for p in net.parameters()]
    yield net.get_parameter("first.fc.weight") is net.first.fc.weight
    yield net.get_submodule("blocks.1.act") is net.blocks[1].act
    yield net.get_buffer("first.scale") is net.first.scale
    del net.first
    net.blocks[0] = lib.nn.Tanh()
    net.blocks.insert(1, lib.nn.ReLU())
    net.blocks.append(lib.nn.ReLU()).extend([lib.nn.ReLU()])
    del net.blocks[2]
    net.heads["c"] = lib.nn.Tanh()
    net.heads.pop("b")
    net.gain = None
    yield repr(net), list(net.heads), len(net.blocks), "a" in net.heads, list(net.state_dict())
    yield repr(net.blocks[1:]), repr(net.blocks[-1])


def containers(lib):
    nn = lib.nn
    from collections import OrderedDict

    net = nn.Sequential(OrderedDict(one=nn.Linear(2, 3), two=nn.ReLU(), three=nn.Linear(3, 1)))
    yield repr(net), repr(net[1:]), repr(net[-1]), list(net.state_dict()), len(net)
    net.append(nn.Tanh())
    net[0] = nn.Linear(2, 3, bias=False)
    yield repr(net)
    del net[1]
    yield repr(net), [type(m).__name__ for m in net]
    net = nn.Sequential(nn.ReLU(), nn.Tanh())
    yield (
        repr(net.insert(1, nn.ReLU())), repr(net.pop(0)), repr(net),
        repr(net + nn.Sequential(nn.ELU())),
    )  # fmt: skip
    yield repr(net.extend([nn.ReLU()]))


def setting_attributes(lib):
    nn = lib.nn
    m = nn.Module()
    m.x = 3
    m.x = nn.Parameter(lib.ones(2))
    yield list(m.state_dict()), m.x is m._parameters["x"]
    del m.x
    m.x = nn.ReLU()
    yield list(m._parameters), list(m._modules)
    m.x = None
    yield list(m._modules), m.x
    m.register_buffer("b", lib.ones(2))
    m.b = lib.zeros(3)
    yield m.b.tolist(), m._buffers["b"] is m.b
    m.b = None
    yield list(m.state_dict()), m.b
    m._modules["x"] = nn.Tanh()
    yield repr(m), repr(m.x)
    m.p = nn.Parameter(lib.ones(1))
    del m.p
    del m.b
    yield hasattr(m, "p"), hasattr(m, "b"), "x" in dir(m)
    shared = nn.Linear(2, 2)
    twin = copy.deepcopy(nn.Sequential(shared, shared))
    yield twin[0] is twin[1], len(list(twin.parameters())), twin[0].weight is shared.weight
    m.to(lib.float64)
    yield str(nn.Linear(1, 1).double().weight.dtype)[-7:]
    drop = nn.Linear(2, 2)
    drop.weight.grad = lib.ones(2, 2)
    drop.zero_grad(False)
    yield drop.weight.grad.tolist(), drop.bias.grad
    drop.zero_grad()
    yield drop.weight.grad
    yield nn.Parameter(lib.ones(2)).requires_grad, nn.Parameter(lib.ones(2), False).requires_grad


def hooks(lib):
    nn, seen = lib.nn, []

    class Two(nn.Module):
        def forward(self, x, n=1, *, flag=None):
            return x * n, n

    m, x = Two(), lib.tensor([1.0, 2.0], requires_grad=True)
    handles = [
        m.register_forward_pre_hook(lambda mod, a: seen.append(("pre", len(a)))),
        m.register_forward_pre_hook(lambda mod, a: (a[0] * 2, 3), prepend=True),
        m.register_forward_pre_hook(
            lambda mod, a, k: (seen.append(sorted(k)), (a, {"flag": 1}))[1], with_kwargs=True
        ),
        m.register_forward_hook(lambda mod, a, out: (out[0] + 1, out[1])),
        m.register_forward_hook(
            lambda mod, a, k, out: seen.append((sorted(k), out[0].tolist())), with_kwargs=True
        ),
        m.register_full_backward_pre_hook(
            lambda mod, g: (seen.append(["bpre", g[0].tolist(), g[1]]), (g[0] * 10, None))[1]
        ),
        m.register_full_backward_hook(lambda _, gi, go: seen.append(["b", *map(listed, gi + go)])),
        m.register_full_backward_hook(lambda mod, gi, go: (gi[0] + 1, None), prepend=True),
    ]
    out, n = m(x, 7, flag=2)
    out.sum().backward()
    yield seen[:], n, out.tolist(), x.grad.tolist()
    for handle in handles:
        handle.remove()
    seen.clear()
    yield m(x)[0].tolist(), seen
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    for p in net.parameters():
        p.data = lib.ones(*p.shape)
    for name, mod in net.named_modules():
        mod.register_full_backward_hook(
            lambda mod, gi, go, name=name: seen.append((name, [listed(g) for g in (*gi, *go)]))
        )
        mod.register_full_backward_pre_hook(lambda mod, go, name=name: seen.append(("pre", name)))
        mod.register_forward_hook(lambda mod, a, o, name=name: seen.append(("forward", name)))
    net(lib.ones(1, 2)).sum().backward()
    net(x).sum().backward()
    yield seen, net[0].weight.grad.tolist()


def listed(x):
    return x if x is None or isinstance(x, list) else x.tolist()


def loading(lib):
    nn = lib.nn
    m = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    yield repr(m.load_state_dict(m.state_dict()))
    yield repr(m.load_state_dict({"0.bias": lib.zeros(3), "x": lib.ones(1)}, strict=False))
    yield m[0].bias.tolist()
    weight = m[0].weight
    m.load_state_dict({k: v * 0 + 1 for k, v in m.state_dict().items()}, assign=True)
    yield weight is m[0].weight, m[0].weight.tolist(), type(m[0].weight).__name__
    m[0].requires_grad_(False)
    m.load_state_dict(m.state_dict(), assign=True)
    yield [p.requires_grad for p in m.parameters()]


SCRIPTS = [names_and_text, containers, setting_attributes, hooks, loading]
