"""Scripts that evaluate their model in each step, or call it without gradients to train it."""

from .cases import Case
from .look_alikes import LookAlike

_TRAINED = """\
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(48, 64), nn.Tanh(), nn.Linear(64, 8))
{made}
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
log = []
inputs, labels = torch.randn(48, 48), torch.arange(48) % 8
held_out, expected = torch.randn(96, 48), torch.arange(96) % 8

@torch.no_grad()
def evaluate():
    model.eval()
    accuracy = (model(held_out).argmax(1) == expected).float().mean()  #!
    model.train()
    return accuracy.item()

{function}

def train():
    for step in range(12):
        {before}
        loss = F.cross_entropy(model(inputs), labels){more}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {after}

train()
"""


def _script(
    before: str = "pass", after: str = "pass", more: str = "", made: str = "", function: str = ""
) -> str:
    return _TRAINED.format(before=before, after=after, more=more, made=made, function=function)


def _alike(name: str, script: str, sees: dict[str, int]) -> LookAlike:
    return LookAlike("TDY413", name, script.replace("  #!", ""), sees)


_IN_EACH = "log.append(evaluate())"
_TARGETS = """\
with torch.no_grad():
            guessed = {}(held_out).softmax(1)"""
_ACTS = """\
@torch.no_grad()
def act(state):
    return model(torch.tensor([state])).argmax(1).item()

"""
_PLAYED = """\
states = [[float(step + at)] * 48 for at in range(6)]
        actions = torch.tensor([act(state) for state in states])
        played = torch.tensor(states)"""

EVALUATION_CASES = [
    Case(
        "evaluated-in-each-step",
        "TDY413",
        _script(after=_IN_EACH),
        ((_IN_EACH, f"step % 6 == 5 and {_IN_EACH}"),),
    ),
]

EVALUATION_LOOK_ALIKES = [
    _alike(
        "pseudo-labels",
        _script(_TARGETS.format("model"), more=" + F.cross_entropy(model(held_out), guessed)"),
        {"nn.Module: Sequential_0": 36},
    ),
    _alike(
        "a-teacher",
        _script(
            _TARGETS.format("teacher"),
            made="teacher = nn.Sequential(nn.Linear(48, 64), nn.Linear(64, 8))",
            more=" + F.cross_entropy(model(held_out), guessed)",
        ),
        {"nn.Module: Sequential_*": 36},
    ),
    _alike(
        "an-agent-that-acts",
        _script(_PLAYED, function=_ACTS, more=" + F.cross_entropy(model(played), actions)"),
        {"aten::argmax": 72},
    ),
    _alike(
        "the-hardest-samples",
        _script(
            "with torch.no_grad():\n            losses = F.cross_entropy(model(held_out), expected,"
            " reduction='none')\n        hard = losses.topk(16).indices",
            more=" + F.cross_entropy(model(held_out[hard]), expected[hard])",
        ),
        {"aten::topk": 12},
    ),
    _alike(
        "evaluated-now-and-then", _script(after=f"step % 6 == 5 and {_IN_EACH}"), {"aten::eq": 2}
    ),
]
