"""Scripts that look up rows of a matrix, by a product or otherwise."""

from .cases import Case
from .look_alikes import LookAlike

_TRAINED = """\
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
weight = nn.Parameter(torch.randn(800, 32))
head = nn.Linear(32, 4)
optimizer = torch.optim.SGD([weight, *head.parameters()], lr=0.01)
words = torch.randint(800, (128,))
for step in range(12):
    {}
    optimizer.zero_grad()
    head(rows).square().mean().backward()
    optimizer.step()
"""
_MULTIPLIED = "rows = F.one_hot(words, 800).float() @ weight  #!"
_LINEAR = "rows = F.linear(F.one_hot(words, 800).float(), weight.t())  #!"
# As many rows as the matrix has columns.
_SQUARE = "rows = F.linear(F.one_hot(words[:32], 800).float(), weight.t())  #!"
_LOOKED_UP = "rows = F.embedding(words, weight)"

_BY_CLASS = "rows = F.one_hot(words, 800).float().T @ (weight[words] + 1)  #!"
_ADDED = "rows = weight.new_zeros(800, 32).index_add_(0, words, weight[words] + 1)"

LOOKUP_CASES = [
    Case("messages-summed-by-node", "TDY415", _TRAINED.format(_BY_CLASS), ((_BY_CLASS, _ADDED),)),
    Case(
        "words-as-one-hot-tensors",
        "TDY415",
        _TRAINED.format(_MULTIPLIED),
        ((_MULTIPLIED, _LOOKED_UP),),
    ),
    Case(
        "a-layer-of-one-hot-tensors",
        "TDY415",
        _TRAINED.format(_LINEAR),
        ((_LINEAR, _LOOKED_UP),),
    ),
    Case(
        "as-many-words-as-columns",
        "TDY415",
        _TRAINED.format(_SQUARE),
        ((_SQUARE, "rows = F.embedding(words[:32], weight)"),),
    ),
]

LOOKUP_LOOK_ALIKES = [
    LookAlike(
        "TDY415",
        "few-classes",
        _TRAINED.format("rows = F.one_hot(words % 32, 32).float() @ weight[:32]"),
        {"aten::one_hot": 8},
    ),
    LookAlike(
        "TDY415",
        "labels-that-are-smoothed",
        _TRAINED.format("rows = (0.9 * F.one_hot(words, 800).float() + 0.0001) @ weight"),
        {"aten::one_hot": 8},
    ),
    LookAlike(
        "TDY415",
        "labels-before-a-product-of-weights-as-large",
        _TRAINED.format(
            "scores = (weight[:128] @ weight.t()).softmax(-1)\n"
            "    labels = F.one_hot(words, 800).float()\n"
            "    rows = scores @ weight"
        ),
        {"aten::one_hot": 8},
    ),
    LookAlike(
        "TDY415",
        "labels-before-numbers-that-are-cast",
        _TRAINED.format(
            "numbers = words[:, None].expand(128, 800) / 800\n"
            "    labels = F.one_hot(words % 8, 8)\n"
            "    rows = numbers.double().float() @ weight"
        ),
        {"aten::one_hot": 8},
    ),
    LookAlike(
        "TDY415",
        "straight-through-weights",
        _TRAINED.format(
            "soft = (weight[:128] @ weight.t()).softmax(-1)\n"
            "    hard = F.one_hot(soft.argmax(-1), 800).float()\n"
            "    rows = (hard - soft.detach() + soft) @ weight"
        ),
        {"aten::one_hot": 8},
    ),
    LookAlike(
        "TDY415",
        "labels-before-a-layer-as-large-as-they-are",
        _TRAINED.format(
            "labels = F.one_hot(words, 800).float()\n"
            "    rows = bags @ weight\n"
            "    scores = rows @ weight.detach().t()\n"
            "    error = F.mse_loss(scores, labels)"
        ).replace("words =", "bags = torch.rand(128, 800)\nwords ="),
        {"aten::one_hot": 8},
    ),
    LookAlike(
        "TDY415",
        "smoothed-sums-by-class",
        _TRAINED.format(
            "many = F.one_hot(words.repeat(7)[:800], 800).float()\n"
            "    rows = (many.t() + 0.001) @ weight"
        ),
        {"aten::one_hot": 8},
    ),
    LookAlike(
        "TDY415",
        "ones-among-others-that-were-kept",
        _TRAINED.format(
            "total = torch.zeros(128, 800)\n"
            "    seen.scatter_(1, words[:, None], 1.0)\n"
            "    rows = seen @ weight\n"
            "    total += seen"
        ).replace("words =", "seen = torch.zeros(128, 800)\nwords ="),
        {"aten::scatter_": 8},
    ),
]
