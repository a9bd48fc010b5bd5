"""Losses of pairs, triplets and margins, and the distance they use. Source: nn/modules/loss.py."""

# mypy: disable-error-code="has-type, attr-defined"

from __future__ import annotations

from typing import Any

from .layers import _MEAN, Layer, _Loss, make_layers

_PAIR = "input1, input2, target -> "
_TRIPLET = "anchor, positive, negative -> "
_POINTS = "x1, x2 -> pairwise_distance"
_CTC = "log_probs, targets, input_lengths, target_lengths -> ctc_loss"


class _OfSigns(_Loss):
    """Of a power, which is checked first."""

    def setup(self, **factory: Any) -> None:
        super().setup()
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")


class _Distance(Layer):
    shown = ""


_POISSON = "log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, "
_POISSON += "reduction='mean'"
_GAUSSIAN = "*, full=False, eps=1e-06, reduction='mean'"
_FAR = "margin=1.0, p=2.0, eps=1e-06, swap=False, " + _MEAN
_ROWS: Any = (
    (_Loss, "MarginRankingLoss", _PAIR + "margin_ranking_loss", "margin=0.0, " + _MEAN),
    (_Loss, "CosineEmbeddingLoss", _PAIR + "cosine_embedding_loss", "margin=0.0, " + _MEAN),
    (_OfSigns, "MultiMarginLoss", "multi_margin_loss", "p=1, margin=1.0, weight=None, " + _MEAN),
    (_Loss, "PoissonNLLLoss", "poisson_nll_loss", _POISSON),
    (_Loss, "GaussianNLLLoss", "input, target, var -> gaussian_nll_loss", _GAUSSIAN),
    (_Loss, "TripletMarginLoss", _TRIPLET + "triplet_margin_loss", _FAR),
    (_Loss, "CTCLoss", _CTC, "blank=0, reduction='mean', zero_infinity=False"),
    (_Distance, "PairwiseDistance", _POINTS, "p=2.0, eps=1e-06, keepdim=False"),
)
make_layers(globals(), _ROWS)
