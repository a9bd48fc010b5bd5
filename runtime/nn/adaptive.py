"""The softmax of many classes of which few are frequent. Source: torch/nn/modules/adaptive.py."""

# mypy: disable-error-code="attr-defined, call-arg, has-type"

from __future__ import annotations

from collections import namedtuple
from itertools import pairwise
from typing import Any

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor
from .containers import ModuleList, Sequential
from .layers import _FACTORY, Layer, Linear

_Outcome = namedtuple("_Outcome", "output loss")


class AdaptiveLogSoftmaxWithLoss(
    Layer, args="in_features, n_classes, cutoffs, div_value=4.0, head_bias=False" + _FACTORY
):
    """Frequent classes in a head, which also knows clusters of the others (Grave et al., 2016)."""

    shown = ""

    def setup(self, **factory: Any) -> None:
        cutoffs, n = list(self.cutoffs), self.n_classes
        fits = cutoffs == sorted({*cutoffs}) and all(int(c) == c and 0 < c < n for c in cutoffs)
        told = "cutoffs should be unique integers in increasing order, from 1 to n_classes - 1"
        check(bool(cutoffs) and fits, told, ValueError)
        self.cutoffs, self.shortlist_size = [*cutoffs, n], cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(self.in_features, self.head_size, bias=self.head_bias, **factory)
        self.tail = ModuleList()
        for i, (start, end) in enumerate(pairwise(self.cutoffs), 1):
            width = int(self.in_features // self.div_value**i)
            first = Linear(self.in_features, width, bias=False, **factory)
            self.tail.append(Sequential(first, Linear(width, end - start, bias=False, **factory)))

    def reset_parameters(self) -> None:
        for module in (self.head, *(layer for pair in self.tail for layer in pair)):
            module.reset_parameters()

    def log_prob(self, input: Tensor) -> Tensor:
        """(N, n_classes)."""
        head = aten.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail, self.shortlist_size):
            parts.append(aten.log_softmax(cluster(input), dim=1) + head[:, i].unsqueeze(1))
        return aten.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        return self.log_prob(input).argmax(1)

    def forward(self, input: Tensor, target: Tensor) -> Any:
        alone, have = target.array.ndim == 0, input.array.shape
        fits = target.array.ndim < 2 and len(have) == 2 - alone
        check(fits and (alone or have[0] == len(target.array)), f"sizes do not fit: {have}")
        rows, classes = (x.unsqueeze(0) if alone else x for x in (input, target))
        inside = not classes.array.size or classes.array.min() >= 0
        inside = inside and classes.array.max(initial=0) < self.n_classes
        check(bool(inside), f"Target values should be in [0, {self.n_classes - 1}]")
        output = self.log_prob(rows).gather(1, classes.unsqueeze(1)).squeeze(1)
        return _Outcome(output.squeeze(0) if alone else output, (-output).mean())
