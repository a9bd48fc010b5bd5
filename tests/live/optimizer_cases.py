"""Scripts with an optimizer of their own, for TDY601; see device_cases.py and look_alikes.py."""

from .cases import Case
from .device_cases import DeviceCase
from .look_alikes import LookAlike

# An optimizer of the script's own. It takes lists of parameters and of what it keeps of them.
_OWN = """\
import torch
from torch import nn

class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            params = [each for each in group["params"] if each.grad is not None]
            for each in params:
                if not self.state[each]:
                    self.state[each]["mean"] = torch.zeros_like(each)
            means = [self.state[each]["mean"] for each in params]
            self.update(params, [each.grad for each in params], means, group["lr"])

    def update(self, params, grads, means, lr):
{update}

torch.manual_seed(0)
model = nn.Sequential(*(nn.Linear(32, 32) for _ in range(8))).to("cuda")
optimizer = Lion(model.parameters(), lr=1e-4)
{before}
inputs = torch.randn(64, 32, device="cuda")
for step in range(6):
    optimizer.zero_grad()
    model(inputs).square().mean().backward()
    optimizer.step()
"""
_ONE_BY_ONE = """\
        for param, grad, mean in zip(params, grads, means):
            update = mean.mul(0.9).add_(grad, alpha=0.1)  #!
            param.add_(update.sign_(), alpha=-lr)
            mean.lerp_(grad, 0.01)
"""
_GROUPED = """\
        updates = torch._foreach_mul(means, 0.9)
        torch._foreach_add_(updates, grads, alpha=0.1)
        torch._foreach_sign_(updates)
        torch._foreach_add_(params, updates, alpha=-lr)
        torch._foreach_lerp_(means, grads, 0.01)
"""


def _script(update: str, before: str = "") -> str:
    """`update` is the body of its method, `before` what follows its making."""
    return _OWN.format(update=update, before=before)


OPTIMIZER_CASES = [
    DeviceCase(Case("own", "TDY601", _script(_ONE_BY_ONE), ((_ONE_BY_ONE, _GROUPED),)))
]

# Newton-Schulz iterations of each gradient, as Muon has them.
_ORTHOGONAL = """\
        for param, grad, mean in zip(params, grads, means):
            mean.lerp_(grad, 0.1)
            update = mean if mean.ndim == 2 else mean[None]
            for _ in range(5):
                update = update.mul(1.5).sub_(update @ update.T @ update, alpha=0.5)
            param.add_(update.view_as(param), alpha=-lr)
"""
_FEW = "optimizer = Lion(model[0].parameters(), lr=1e-4)"
_WRAPS = """
class Halves(torch.optim.Optimizer):
    def __init__(self, inner):
        super().__init__(inner.param_groups, {})
        self.inner = inner

    @torch.no_grad()
    def step(self):
        before = [each.clone() for each in model.parameters()]
        self.inner.step()
        for old, new in zip(before, model.parameters()):
            new.lerp_(old, 0.5)

optimizer = Halves(Lion(model[0].parameters(), lr=1e-4))
"""


def _own(name: str, sees: dict[str, int], update: str = _ONE_BY_ONE, before: str = "") -> LookAlike:
    return LookAlike("TDY601", name, _script(update, before), sees, "a100")


OPTIMIZER_LOOK_ALIKES = [
    _own("products", {"Optimizer.step#Lion.step": 6, "aten::add_": 90}, _ORTHOGONAL),
    _own("few-parameters", {"Optimizer.step#Lion.step": 6, "aten::lerp_": 12}, before=_FEW),
    _own("wraps-another", {"Optimizer.step#Halves.step": 6, "aten::lerp_": 90}, before=_WRAPS),
]
