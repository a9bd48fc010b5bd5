"""Scripts that clear gradients too often, or before they are used."""

from .cases import Case
from .look_alikes import LookAlike

_TRAINED = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*[each for _ in range(4) for each in (nn.Linear(48, 48), nn.Tanh())])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(64, 48)
for step in range(10):
    {before}
    model(inputs).square().mean().backward(){fault}
    {after}
    optimizer.step()
"""


def _script(before: str, after: str = "pass", fault: str = "") -> str:
    return _TRAINED.format(before=before, after=after, fault=fault)


_FIRST = "model(inputs + 1).square().mean().backward()"

_CLAMPED = """\
seen = model[:4](inputs)
    seen.register_hook(lambda grad: {hook})
    model[4:](seen).square().mean().backward()  #!
    optimizer.zero_grad()
    model(inputs).square().mean().backward()"""
_AT_ONCE = _CLAMPED.format(hook="grad.clamp(-1, 1)")

CLEARED_CASES = [
    Case(
        "cleared-after-a-hook-changed-gradients",
        "TDY709",
        _script(f"optimizer.zero_grad()\n    {_AT_ONCE}"),
        (("  #!\n    optimizer.zero_grad()", "  #!"),),
    ),
    Case(
        "cleared-before-the-step",
        "TDY709",
        _script("pass", "optimizer.zero_grad()", "  #!"),
        (
            ("    pass\n", "    optimizer.zero_grad()\n"),
            ("    optimizer.zero_grad()\n    opt", "    opt"),
        ),
    ),
    Case(
        "cleared-by-each-micro-batch",
        "TDY709",
        _script(f"optimizer.zero_grad()\n    {_FIRST}  #!\n    optimizer.zero_grad()"),
        ((f"{_FIRST}  #!\n    optimizer.zero_grad()", _FIRST),),
    ),
]

_PERTURBED = """\
norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    steps = [p.grad * (0.05 / norm) for p in model.parameters()]
    optimizer.zero_grad()
    torch._foreach_add_([p.data for p in model.parameters()], steps)
    model(inputs).square().mean().backward()
    torch._foreach_sub_([p.data for p in model.parameters()], steps)"""
_ATTACKED = """\
attacked = inputs.clone().requires_grad_()
    model(attacked).square().mean().backward()
    attacked = attacked.detach() + 0.1 * attacked.grad.sign()
    optimizer.zero_grad()"""
# The same, after `zero_grad`: the small gradient of the inputs stays.
_ATTACKED_LATER = """\
attacked = inputs[:1].clone().requires_grad_()
    model(attacked).square().mean().backward()
    optimizer.zero_grad()
    attacked = (attacked + 0.1 * attacked.grad.sign()).detach()
    model(attacked).square().mean().backward()"""
_EXPLAINED = """\
optimizer.zero_grad()
    seen = model[:4](inputs[:32])
    seen.retain_grad()
    model[4:](seen).sum().backward()
    important = (seen.detach() * seen.grad).relu()
    del seen
    optimizer.zero_grad()
    model[4:](model[:4](inputs[:32]) * (1 + important)).square().mean().backward()"""
_UPDATES = """\
@torch.no_grad()
def update(parameter):
    parameter.add_(parameter.grad, alpha=-0.01)

for each in model.parameters():
    each.register_post_accumulate_grad_hook(update)
"""
_SUMS = """\
information = {}
for name, each in model.named_parameters():
    information[name] = torch.zeros_like(each)

    def sums(grad, name=name):
        information[name] += grad.square()

    each.register_hook(sums)
"""
_IN_A_HOOK = f"optimizer.zero_grad()\n    {_FIRST}\n    optimizer.zero_grad()"


def _hooked(hook: str) -> str:
    return _script(_IN_A_HOOK).replace("for step in range", f"{hook}\nfor step in range")


_KEPT = "kept = [p.grad for p in model.parameters()]"

CLEARED_LOOK_ALIKES = [
    LookAlike(
        "TDY709",
        "sharpness-aware",
        _script("optimizer.zero_grad()", _PERTURBED),
        {"Optimizer.zero_grad#*": 20},
    ),
    LookAlike("TDY709", "attacked-inputs", _script(_ATTACKED), {"Optimizer.zero_grad#*": 10}),
    LookAlike(
        "TDY709",
        "attacked-inputs-after-clearing",
        _script(_ATTACKED_LATER, fault="; optimizer.step(); optimizer.zero_grad()"),
        {"Optimizer.zero_grad#*": 20},
    ),
    LookAlike(
        "TDY709", "activations-explained", _script(_EXPLAINED), {"Optimizer.zero_grad#*": 20}
    ),
    LookAlike(
        "TDY709",
        "a-hook-reads-what-activations-get",
        _script(
            "optimizer.zero_grad()\n    "
            + _CLAMPED.format(hook="norms.append(grad.norm().item())").replace("  #!", "")
        ).replace("for step in range", "norms = []\nfor step in range"),
        {"Optimizer.zero_grad#*": 20, "aten::item": 10},
    ),
    LookAlike(
        "TDY709",
        "updated-in-a-hook",
        _hooked(_UPDATES),
        {"Optimizer.zero_grad#*": 20},
    ),
    LookAlike(
        "TDY709",
        "summed-in-a-hook",
        _hooked(_SUMS),
        {"Optimizer.zero_grad#*": 20},
    ),
    LookAlike(
        "TDY709",
        "gradients-of-tasks-are-kept",
        _script(f"{_FIRST}\n    {_KEPT}\n    optimizer.zero_grad()"),
        {"Optimizer.zero_grad#*": 10},
    ),
    LookAlike(
        "TDY709",
        "left-out-once",
        _script("pass", "step % 4 == 3 and optimizer.zero_grad()", ""),
        {"Optimizer.zero_grad#*": 2},
    ),
]
