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


# A triplet or a hinge that is not violated is no part of the loss.
_DROPS = """
        margins, kept = F.cross_entropy(model(inputs), labels, reduction="none") - 1, []
        for i in range(48):
            doubled = margins[i] * 2
            if i % 16 < 4:
                kept.append(doubled)
        loss = loss + torch.stack(kept).sum()"""


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

# What a function computes without gradients, and training takes as a part of another tensor.
_JOINED = """\
@torch.no_grad()
def guess():
    return model(held_out)

others, head = torch.randn(32, 8), nn.Linear(8, 8)
"""
_GUESSED = """\
@torch.no_grad()
def guess():
    return model(held_out)

bank = torch.zeros(96, 8)
"""
_SAMPLED = """\
@torch.no_grad()
def sample():
    return model(torch.randn(96, 48))  #!
"""
_READ = "log.append(sample().std().item())"
_PART = """\
@torch.no_grad()
def guess():
    return model(F.pad(inputs[:, :40], (0, 8)))
"""
_AVERAGED = """\
averages = torch.zeros(96, 8)

def average(at):
    with torch.no_grad():
        averages[at] = 0.6 * averages[at] + 0.4 * model(held_out[at]).softmax(1)
"""
_BANK = """\
bank = torch.zeros(960, 8)

def refresh(at):
    with torch.no_grad():
        bank[at] = F.normalize(model(inputs), dim=1)
"""
_BASELINE = """\
with torch.no_grad():
            baseline = model(held_out).logsumexp(1).mean()"""
_STATISTICS = """\
model.train()
        with torch.no_grad():
            model(held_out)
        model.eval()"""
_CHECKPOINTED = """\
from torch.utils.checkpoint import checkpoint

class WithLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = model

    def forward(self, inputs, labels):
        return F.cross_entropy(self.model(inputs), labels)

inputs.requires_grad_()
with_loss = WithLoss()
"""

EVALUATION_CASES = [
    Case(
        "evaluated-in-each-step",
        "TDY413",
        _script(after=_IN_EACH),
        ((_IN_EACH, f"step % 6 == 5 and {_IN_EACH}"),),
    ),
    Case(
        "sampled-in-each-step",
        "TDY413",
        _script(after=_READ).replace("  #!", "").replace("def train", f"{_SAMPLED}\ndef train"),
        ((_READ, f"step % 6 == 5 and {_READ}"),),
    ),
]

EVALUATION_LOOK_ALIKES = [
    LookAlike(
        "TDY702",
        "a-branch-drops-some-of-a-loss",
        _script(more=_DROPS),
        {"aten::select": 576},
    ),
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
        "joined-with-others",
        _script(
            "both = torch.cat([others, guess()])",
            more=" + head(both).square().mean()",
            function=_JOINED,
        ),
        {"nn.Module: Sequential_0": 24},
    ),
    _alike(
        "probabilities-of-what-it-returned",
        _script(
            "wanted = guess().softmax(1)",
            more=" + F.cross_entropy(model(held_out), wanted)",
            function=_GUESSED,
        ),
        {"aten::softmax": 12},
    ),
    _alike(
        "written-after-the-function",
        _script(
            "bank.copy_(guess().tanh())",
            more=" + (model(held_out) * bank).mean()",
            function=_GUESSED,
        ),
        {"aten::copy_": 12},
    ),
    _alike(
        "conditioned-on-itself",
        _script(
            "joined = torch.cat([inputs[:, :40], guess()], 1)",
            more=" + F.cross_entropy(model(joined), labels)",
            function=_PART,
        ),
        {"nn.Module: Sequential_0": 36},
    ),
    _alike(
        "averages-of-each-sample",
        _script(
            "average(torch.randint(0, 96, (40,)))",
            more=" + F.mse_loss(model(inputs).softmax(1), averages[torch.randint(0, 96, (48,))])",
            function=_AVERAGED,
        ),
        {"aten::index_put_": 12},
    ),
    _alike(
        "a-bank",
        _script(
            "refresh(torch.randint(0, 960, (48,)))",
            more=" + (model(inputs + 0.1) @ bank.t()).logsumexp(1).mean()",
            function=_BANK,
        ),
        {"aten::index_put_": 12},
    ),
    _alike(
        "a-baseline",
        _script(_BASELINE, more=" + (model(inputs).logsumexp(1) - baseline).square().mean()"),
        {"aten::logsumexp": 24},
    ),
    _alike(
        "statistics-of-batch-norm",
        _script(
            _STATISTICS,
            made="model = nn.Sequential(nn.Linear(48, 64), nn.BatchNorm1d(64), nn.Linear(64, 8))",
        ),
        {"nn.Module: BatchNorm1d_0": 24},
    ),
    _alike(
        "a-checkpoint",
        _script(function=_CHECKPOINTED).replace(
            "F.cross_entropy(model(inputs), labels)",
            "checkpoint(with_loss, inputs, labels, use_reentrant=True)",
        ),
        {"nn.Module: WithLoss_0": 12},
    ),
    _alike(
        "evaluated-now-and-then", _script(after=f"step % 6 == 5 and {_IN_EACH}"), {"aten::eq": 2}
    ),
]
