"""Attention. Source: torch/nn/modules/activation.py, torch/nn/modules/transformer.py."""

# ruff: noqa: N812
# mypy: disable-error-code="has-type"

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import wrap
from . import functional as F
from . import init
from .function_layers import Dropout
from .layers import Layer, LayerNorm, Linear


class NonDynamicallyQuantizableLinear(Linear):
    """Linear, under the name that a repr shows."""


class MultiheadAttention(
    Layer,
    args="embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, "
    "kdim=None, vdim=None, batch_first=False, device=None, dtype=None",
):
    """Attention in `num_heads` parts, of (L, N, E), or (N, L, E) if `batch_first`, or (L, E).

    Raises:
        NotImplementedError: add_bias_kv, add_zero_attn, or kdim or vdim other than embed_dim.
    """

    shown = ""

    def setup(self, **factory: Any) -> None:
        n, m, biased = self.embed_dim, self.num_heads, self.bias
        if n <= 0 or m <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, "
                f"got embed_dim={n} and num_heads={m} instead"
            )
        if n % m:
            raise AssertionError("embed_dim must be divisible by num_heads")
        if self.add_bias_kv or self.add_zero_attn or {self.kdim, self.vdim} - {None, n}:
            raise NotImplementedError("add_bias_kv, add_zero_attn, kdim and vdim")
        self._new(factory, in_proj_weight=(3 * n, n), in_proj_bias=biased and (3 * n,))
        self.out_proj = NonDynamicallyQuantizableLinear(n, n, biased, **factory)
        if biased:
            init.zeros_(self.out_proj.bias)

    def reset_parameters(self) -> None:
        init.xavier_uniform_(self.in_proj_weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """The output, and the weights (N, L, S), or (N, heads, L, S) unless averaged, or None.

        Masks are True, or -inf, where not to look; `is_causal` only tells what `attn_mask` is.
        """
        shape, n = query.array.shape, self.embed_dim
        if len(shape) not in {2, 3}:
            raise AssertionError(
                "query should be unbatched 2D or batched 3D tensor but received "
                f"{len(shape)}-D query tensor"
            )
        if shape[-1] != n:
            raise AssertionError(f"was expecting embedding dimension of {n}, but got {shape[-1]}")
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        if query is key is value:
            parts = F.linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, -1)
        else:
            weights, bias = self.in_proj_weight.chunk(3), self.in_proj_bias
            biases = (None,) * 3 if bias is None else bias.chunk(3)
            parts = list(map(F.linear, (query, key, value), weights, biases))
        heads = []
        for x in parts:
            batch = x.unsqueeze(0) if len(shape) == 2 else x
            if len(shape) == 3 and not self.batch_first:
                batch = x.transpose(0, 1)
            split = (*batch.array.shape[:2], self.num_heads, n // self.num_heads)
            heads.append(batch.reshape(split).transpose(1, 2))
        q, k, v = heads
        mask = self._mask(attn_mask, key_padding_mask, q, k)
        drop, weights = self.dropout if self.training else 0.0, None
        if need_weights:
            scores = (q * (n // self.num_heads) ** -0.5) @ k.transpose(-2, -1)
            weights = F.softmax(scores if mask is None else scores + mask, -1)
            weights = F.dropout(weights, drop) if drop else weights
            out = weights @ v
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            out = F.scaled_dot_product_attention(q, k, v, mask, drop)
        out = out.transpose(1, 2)
        out = self.out_proj(out.reshape(*out.array.shape[:2], n))
        if len(shape) == 2:
            return out.squeeze(0), None if weights is None else weights.squeeze(0)
        return out if self.batch_first else out.transpose(0, 1), weights

    def _mask(self, attn_mask: Any, key_padding_mask: Any, q: Any, k: Any) -> Any:
        """Both masks as one, to be added to the scores (N, heads, L, S)."""
        (batch, heads, length), source = q.array.shape[:3], k.array.shape[2]
        same, padding = (length, source), (batch, source)
        found = None
        for mask, allowed, view in (
            (attn_mask, (same, (batch * heads, *same)), (-1, heads, *same)),
            (key_padding_mask, (padding, padding[1:]), (batch, 1, 1, source)),
        ):
            if mask is None:
                continue
            if mask.array.shape not in allowed:
                error = RuntimeError if mask is attn_mask else AssertionError
                raise error(f"The shape of the mask is {mask.shape}, but should be {allowed[0]}.")
            if mask.array.dtype.kind == "b":
                mask = wrap(np.where(mask.array, -np.inf, 0).astype(q.array.dtype))  # noqa: PLW2901
            mask = mask if mask.array.shape == same else mask.reshape(view)  # noqa: PLW2901
            found = mask if found is None else found + mask
        return found


class TransformerEncoderLayer(
    Layer,
    args="d_model, nhead, dim_feedforward=2048, dropout=0.1, activation='relu', "
    "layer_norm_eps=1e-05, batch_first=False, norm_first=False, bias=True, device=None, dtype=None",
):
    """Self-attention and a feed-forward net, each with dropout, residual and LayerNorm."""

    shown = ""

    def setup(self, **factory: Any) -> None:
        if isinstance(self.activation, str) and self.activation not in {"relu", "gelu"}:
            raise RuntimeError(f"activation should be relu/gelu, not {self.activation}")
        n, m, p, bias = self.d_model, self.dim_feedforward, self.dropout, self.bias
        shared = {"batch_first": self.batch_first, **factory}
        self.self_attn = MultiheadAttention(n, self.nhead, p, bias, **shared)
        self.linear1, self.dropout = Linear(n, m, bias, **factory), Dropout(p)
        self.linear2 = Linear(m, n, bias, **factory)
        self.norm1 = LayerNorm(n, self.layer_norm_eps, bias=bias, **factory)
        self.norm2 = LayerNorm(n, self.layer_norm_eps, bias=bias, **factory)
        self.dropout1, self.dropout2 = Dropout(p), Dropout(p)

    def forward(
        self,
        src: Any,
        src_mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: Any = None,
    ) -> Any:
        def attend(x: Any) -> Any:
            return self.dropout1(self.self_attn(x, x, x, src_key_padding_mask, False, src_mask)[0])

        def feed(x: Any) -> Any:
            function = self.activation
            function = getattr(F, function) if isinstance(function, str) else function
            return self.dropout2(self.linear2(self.dropout(function(self.linear1(x)))))

        if self.norm_first:
            src = src + attend(self.norm1(src))
            return src + feed(self.norm2(src))
        src = self.norm1(src + attend(src))
        return self.norm2(src + feed(src))
