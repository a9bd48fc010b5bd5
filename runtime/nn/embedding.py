"""Tables of rows, one for each index, and bags of them. Source: torch/nn/modules/sparse.py."""

# mypy: disable-error-code="has-type, attr-defined"

from __future__ import annotations

from typing import Any

from ..engine.hooks import check
from ..engine.tensor import Tensor
from . import init
from .layers import _FACTORY, Layer
from .module import Parameter

_ARGS = "num_embeddings, embedding_dim, {}max_norm=None, norm_type=2.0, scale_grad_by_freq=False"
_USUAL = {"norm_type": 2.0, "scale_grad_by_freq": False, "sparse": False}  # others: None


class _Table(Layer):
    options: tuple[str, ...]
    named: tuple[str, ...]
    told: str

    def setup(self, **factory: Any) -> None:
        n, padding, given = self.num_embeddings, self.padding_idx, self.__dict__.pop("_weight")
        inside = padding is None or -n <= padding < n
        told = f"{self.told}adding_idx must be within num_embeddings"
        check(inside, told, AssertionError)
        self.padding_idx = None if padding is None else padding % n
        if given is None:
            self._new(factory, weight=(n, self.embedding_dim))
            return
        told = "Shape of weight does not match num_embeddings and embedding_dim"
        check(given.shape == (n, self.embedding_dim), told, AssertionError)
        self.weight = Parameter(given)

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.array[self.padding_idx] = 0

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, *args: Any, **options: Any
    ) -> Any:
        """Make a table of these rows, which learns unless `freeze`."""
        told = "Embeddings parameter is expected to be 2-dimensional"
        check(embeddings.array.ndim == 2, told, AssertionError)
        options |= zip(cls.options, args, strict=False)
        made: Any = cls(*embeddings.array.shape, _weight=embeddings, **options)  # type: ignore[call-arg]
        made.weight.requires_grad = not freeze
        return made

    def extra_repr(self) -> str:
        given = [(name, getattr(self, name)) for name in self.named]
        told = [f"{name}={value!r}" for name, value in given if value != _USUAL.get(name)]
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *told])


class Embedding(
    _Table,
    args=_ARGS.format("padding_idx=None, ")
    + ", sparse=False, _weight=None, _freeze=False"
    + _FACTORY,
    call="F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, "
    "self.scale_grad_by_freq, self.sparse)",
):
    """One row of `weight` for each index: (*) to (*, embedding_dim)."""

    told = "P"
    options = ("padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")
    named = options

    def setup(self, **factory: Any) -> None:
        freeze = self.__dict__.pop("_freeze")
        super().setup(**factory)
        self.weight.requires_grad = not freeze


class EmbeddingBag(
    _Table,
    args=_ARGS.format("") + ", mode='mean', sparse=False, _weight=None, include_last_offset=False, "
    "padding_idx=None" + _FACTORY,
    call="input, offsets=None, per_sample_weights=None -> F.embedding_bag(input, self.weight, "
    "offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse, "
    "per_sample_weights, self.include_last_offset, self.padding_idx)",
):
    """The sums or means of rows of `weight`, of those that lie in one bag."""

    told = "p"
    options = ("max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse",
               "include_last_offset", "padding_idx")  # fmt: skip
    named = ("max_norm", "norm_type", "scale_grad_by_freq", "mode", "padding_idx")

    def setup(self, **factory: Any) -> None:
        check(self.mode != "max", "mode='max' is not supported", NotImplementedError)
        super().setup(**factory)
