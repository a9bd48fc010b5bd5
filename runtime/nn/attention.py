"""Attention of several heads, and the layers of the Transformer.

Source: torch/nn/modules/activation.py, transformer.py.
"""

# mypy: disable-error-code="attr-defined, has-type, call-arg, no-any-return"

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor
from . import functional as F
from . import init
from .containers import ModuleList
from .layers import Dropout, Layer, LayerNorm, Linear
from .module import Module

_FACTORY = ", device=None, dtype=None"


class SDPBackend(IntEnum):
    """Ways in which PyTorch computes attention; here there is one."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """Taken: attention is computed in one way, whatever is chosen of."""
    given = [backends] if isinstance(backends, SDPBackend) else backends
    told = "Backend must be an instance of SDPBackend or a list of SDPBackend instances"
    listed = isinstance(given, (list, tuple)) and len(given) > 0
    check(listed and all(isinstance(b, SDPBackend) for b in given), told, AssertionError)
    yield


class NonDynamicallyQuantizableLinear(Linear):
    """Linear, under the name that the projection of an attention has in PyTorch."""


class MultiheadAttention(
    Layer,
    args="embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, "
    "kdim=None, vdim=None, batch_first=False" + _FACTORY,
):
    """Queries (L, N, E) look at keys and values (S, N, E), each head in its part of E."""

    shown = ""

    def setup(self, **factory: Any) -> None:
        n, heads = self.embed_dim, self.num_heads
        plain = not (self.add_bias_kv or self.add_zero_attn)
        check(plain, "add_bias_kv and add_zero_attn are not supported", NotImplementedError)
        self.head_dim = n // heads
        told = "embed_dim must be divisible by num_heads"
        check(self.head_dim * heads == n, told, AssertionError)
        self.kdim, self.vdim = self.kdim or n, self.vdim or n
        self._qkv_same_embed_dim = self.kdim == self.vdim == n
        alike, bias = self._qkv_same_embed_dim, self.bias
        self.__dict__.pop("bias")
        self.out_proj = NonDynamicallyQuantizableLinear(n, n, bias=bias, **factory)
        self._new(
            factory, in_proj_weight=(3 * n, n) if alike else None,
            q_proj_weight=None if alike else (n, n),
            k_proj_weight=None if alike else (n, self.kdim),
            v_proj_weight=None if alike else (n, self.vdim),
            in_proj_bias=(3 * n,) if bias else None, bias_k=None, bias_v=None,
        )  # fmt: skip

    def reset_parameters(self) -> None:
        for name, weight in self.named_parameters(recurse=False):
            (init.zeros_ if name == "in_proj_bias" else init.xavier_uniform_)(weight)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Any = None,
        need_weights: bool = True, attn_mask: Any = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """Return the attention, and with `need_weights` its weights (averaged over the heads)."""
        alone = query.array.ndim == 2
        check(query.array.ndim in (2, 3), "query should be unbatched 2D or batched 3D")
        check(not is_causal or attn_mask is not None, "need attn_mask if specifying is_causal")
        q, k, v = query, key, value
        if alone:
            q, k, v = (x.unsqueeze(1) for x in (q, k, v))
        elif self.batch_first:
            q, k, v = (x.transpose(0, 1) for x in (q, k, v))
        q, k, v = self._projected(q, k, v)
        mask = _as_bias(attn_mask, q, "attn_mask")
        hidden = _as_bias(key_padding_mask, q, "key_padding_mask")
        q, k, v = (self._heads(x) for x in (q, k, v))
        whole = None
        if mask is not None:
            lengths = mask.array.shape[-2:]
            whole = mask if mask.array.ndim == 2 else mask.reshape((-1, self.num_heads, *lengths))
        if hidden is not None:
            hidden = hidden.unsqueeze(0) if alone else hidden
            hidden = hidden.unsqueeze(1).unsqueeze(1)
            whole = hidden if whole is None else whole + hidden
        p = self.dropout if self.training else 0.0
        if need_weights:
            scores = (q * math.sqrt(1.0 / self.head_dim)) @ k.transpose(-2, -1)
            weights = F.softmax(scores if whole is None else scores + whole, -1)
            found = (F.dropout(weights, p) if p else weights) @ v
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            weights, found = None, F.scaled_dot_product_attention(q, k, v, whole, p)
        length, batch = found.array.shape[2], found.array.shape[0]
        out = self.out_proj(found.permute(2, 0, 1, 3).reshape(length, batch, self.embed_dim))
        if alone:
            return out.squeeze(1), weights if weights is None else weights.squeeze(0)
        return out.transpose(0, 1) if self.batch_first else out, weights

    def _projected(self, *inputs: Tensor) -> Any:
        bias = self.in_proj_bias
        biases = [None] * 3 if bias is None else bias.chunk(3)
        if not self._qkv_same_embed_dim:
            parts = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        elif inputs[0] is inputs[1] is inputs[2]:
            return F.linear(inputs[0], self.in_proj_weight, bias).chunk(3, -1)
        else:
            parts = self.in_proj_weight.chunk(3)
        return [F.linear(x, w, b) for x, w, b in zip(inputs, parts, biases, strict=True)]

    def _heads(self, x: Tensor) -> Tensor:
        """(L, N, E) as (N, heads, L, E / heads)."""
        length, batch = x.array.shape[:2]
        return x.reshape(length, batch, self.num_heads, self.head_dim).permute(1, 2, 0, 3)


def _as_bias(mask: Any, like: Tensor, name: str) -> Any:
    """A mask as what is added to scores: -inf where one of bools is true."""
    if mask is None or mask.array.dtype.kind == "f":
        return mask
    check(mask.array.dtype.kind == "b", f"only bool and floating types of {name} are supported",
          AssertionError)  # fmt: skip
    return aten.zeros_like(mask, dtype=like.array.dtype).masked_fill_(mask, -math.inf)


class _TransformerLayer(Layer):
    """Attention and a small network, each with a residual and a LayerNorm after it, or before."""

    shown, crosses = "", False

    def setup(self, **factory: Any) -> None:
        n, wide, bias = self.d_model, self.dim_feedforward, self.bias
        heads, p, act = self.nhead, self.dropout, self.activation
        for name in ("bias", "dropout", "d_model", "nhead", "dim_feedforward", "layer_norm_eps"):
            eps = self.layer_norm_eps if name == "layer_norm_eps" else None
            self.__dict__.pop(name)
        first = self.__dict__.pop("batch_first")
        for name in ("self_attn", "multihead_attn")[: 1 + self.crosses]:
            setattr(self, name, MultiheadAttention(n, heads, p, bias, batch_first=first, **factory))
        self.linear1 = Linear(n, wide, bias=bias, **factory)
        self.dropout = Dropout(p)
        self.linear2 = Linear(wide, n, bias=bias, **factory)
        for i in range(1, 3 + self.crosses):
            setattr(self, f"norm{i}", LayerNorm(n, eps=eps, bias=bias, **factory))
        for i in range(1, 3 + self.crosses):
            setattr(self, f"dropout{i}", Dropout(p))
        known = act in ("relu", "gelu") or callable(act)
        check(known, f"activation should be relu/gelu, not {act}", RuntimeError)
        self.activation = getattr(F, act) if isinstance(act, str) else act

    def _attend(self, name: str, x: Tensor, memory: Tensor, *masks: Any) -> Tensor:
        mask, padding, causal = masks
        found, _ = getattr(self, name)(
            x, memory, memory, padding, need_weights=False, attn_mask=mask, is_causal=causal
        )
        return found

    def _feed(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _through(self, x: Tensor, *parts: Any) -> Tensor:
        for i, part in enumerate(parts, 1):
            norm, drop = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
            x = x + drop(part(norm(x))) if self.norm_first else norm(x + drop(part(x)))
        return x


_ARGS = "d_model, nhead, dim_feedforward=2048, dropout=0.1, activation='relu', "
_ARGS += "layer_norm_eps=1e-05, batch_first=False, norm_first=False, bias=True" + _FACTORY


class TransformerEncoderLayer(_TransformerLayer, args=_ARGS):
    __doc__ = _TransformerLayer.__doc__

    def forward(
        self, src: Tensor, src_mask: Any = None, src_key_padding_mask: Any = None,
        is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        masks = src_mask, src_key_padding_mask, is_causal and src_mask is not None
        return self._through(src, lambda x: self._attend("self_attn", x, x, *masks), self._feed)


class TransformerDecoderLayer(_TransformerLayer, args=_ARGS):
    """Attention to itself and to what the encoder gave, and a small network."""

    crosses = True

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Any = None, memory_mask: Any = None,
        tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal and tgt_mask is not None
        far = memory_mask, memory_key_padding_mask, memory_is_causal and memory_mask is not None
        return self._through(
            tgt,
            lambda x: self._attend("self_attn", x, x, *own),
            lambda x: self._attend("multihead_attn", x, memory, *far),
            self._feed,
        )


class _Stack(Module):
    """Copies of a layer, one after the other."""

    def __init__(self, layer: Module, num_layers: int, norm: Any = None, **_: Any) -> None:
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
        self.num_layers, self.norm = num_layers, norm

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        for layer in self.layers:
            x = layer(x, *args, **kwargs)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    def forward(
        self, src: Tensor, mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = None
    ) -> Tensor:
        return super().forward(src, mask, src_key_padding_mask, bool(is_causal))


class TransformerDecoder(_Stack):
    __doc__ = _Stack.__doc__


class Transformer(Module):
    """An encoder, and a decoder that looks at what it gives."""

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6,
        num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Any = "relu", custom_encoder: Any = None, custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        bias: bool = True, **factory: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        given = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
                 norm_first, bias)  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*given, **factory), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*given, **factory), num_decoder_layers, norm()
        )
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for weight in self.parameters():
            if weight.array.ndim > 1:
                init.xavier_uniform_(weight)

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Any = None, tgt_mask: Any = None,
        memory_mask: Any = None, src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, src_is_causal: Any = None, tgt_is_causal: Any = None,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
            bool(tgt_is_causal), memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        return aten.full((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)
