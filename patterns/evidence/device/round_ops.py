"""Operators of a round: what they read, change in place and make, as far as inputs tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from tidy.trace import Rows, Trace
from tidy.trace.inputs import ITEM_NBYTES, is_dims

from ..python.op_names import VIEWS, aten
from .result_dims import Dims, made_dims, result_dims

SELECT = "aten::select"
_SUMS = aten("add sub add_ sub_")
_FLOATING = frozenset(
    each for each in ITEM_NBYTES if re.search("(?i)float|half|double|complex", each)
)
# Losses call it to check that dims go together; it returns what it is given.
_CHECKS = aten("broadcast_tensors")
_MAKES_FLOATS = aten("div to _to_copy mean exp log sqrt sigmoid tanh softmax log_softmax")
_OF_PYTHON = frozenset({"double", "long int"})  # dtypes of tensors made of Python numbers
_COMPARES = aten("eq ne gt ge lt le argmax argmin logical_and logical_or logical_not")
_POSITIONS = aten("argmax argmin")
# What these return depends on no tensor's elements. Of some they take the dims.
_LIKE = aten("zeros_like ones_like full_like empty_like rand_like randn_like randint_like")
_NEW = aten("new_zeros new_ones new_full new_empty")
_OF_NOTHING = aten("zeros ones full empty rand randn randint randperm arange linspace eye")
_INTEGERS = aten("randint randperm arange")
# These overwrite the tensor that they change.
_OVERWRITES = aten("copy_ fill_ zero_ normal_ uniform_ bernoulli_ random_ exponential_")
_READS = aten("item is_nonzero _local_scalar_dense")
# Their list of indexes may be without tensors, and is not recorded then.
_LOOKS_UP = aten("index index_put_ _index_put_impl_")
_LIST = "TensorList"
_IN_PLACE = re.compile(r".*[^_]_|aten::__i(and|or|xor|lshift|rshift)__")


class Kind(Enum):
    """What elements of tensors are."""

    FLOAT = "floating-point or complex numbers"
    INT = "integers"
    BOOL = "truth values"


class SeenTensor(NamedTuple):
    """What is known of a tensor.

    Attributes:
        dims: its dims.
        kind: what its elements are; None for a tensor of a list.
    """

    dims: Dims
    kind: Kind | None


# As c10::ScalarType numbers them; the others are floating-point or complex numbers.
_KINDS = {**dict.fromkeys("01234", Kind.INT), "11": Kind.BOOL}


@dataclass(frozen=True, slots=True)
class RoundOp:
    """An operator of a round.

    Attributes:
        at: where in the round it is.
        reads: tensors whose elements it reads.
        changes: the tensor that it changes in place; it is among `reads` if it is not overwritten.
        makes: its result; None where that is not known, or where it returns no tensor.
        returns_none: whether it returns no tensor.
        reads_unseen: whether it also reads indexes or a mask that were not recorded.
        element_nbytes: bytes of an element of each of its inputs.
        dim, index: what a select takes.
    """

    at: int
    name: str
    reads: tuple[SeenTensor, ...]
    changes: SeenTensor | None
    makes: SeenTensor | None
    returns_none: bool
    reads_unseen: bool
    element_nbytes: frozenset[int]
    dim: str
    index: str

    @property
    def is_sum(self) -> bool:
        """Whether it may add to what the round before has left."""
        return self.name in _SUMS and len(self.reads) == 2 and self.makes in self.reads

    @property
    def overwrites(self) -> bool:
        """Whether it changes a tensor in place without reading it."""
        return self.name in _OVERWRITES

    @property
    def is_made_of_nothing(self) -> bool:
        """Whether its result depends on no tensor's elements."""
        return not self.reads


def is_in_place(name: str) -> bool:
    """Tell whether an operator of this name changes its first input."""
    return _IN_PLACE.fullmatch(name) is not None


def ops_of_round(trace: Trace, a_round: Rows) -> tuple[RoundOp, ...] | None:
    """Return the operators of a round; None if what one of them reads was not recorded."""
    every = (_op(trace, at, row) for at, row in enumerate(a_round.tolist()))
    ops = tuple(op for op in every if op is None or op.name not in _CHECKS)
    return None if None in ops or not ops else ops  # type: ignore[return-value]


def _op(trace: Trace, at: int, row: int) -> RoundOp | None:
    number, name = int(trace.inputs_id[row]), trace.names[trace.name_id[row]]
    shapes, dtypes = trace.inputs.shapes(number), trace.inputs.dtypes(number)
    values = trace.inputs.concrete(number)
    reads = tuple(_tensors(shapes, dtypes))
    changes = reads[0] if reads and is_in_place(name) else None
    if changes is not None:
        makes: SeenTensor | None = changes
    elif name in _LIKE | _NEW | _OF_NOTHING:
        makes = _made_of_nothing(name, reads, values)
        reads = ()
    elif not reads:
        return None
    else:
        makes = _result(name, reads, values)
    if name in _OVERWRITES:
        reads = reads[1:]
    nbytes = frozenset(ITEM_NBYTES[each] for each in dtypes if each in ITEM_NBYTES)
    reads_unseen = name in _LOOKS_UP and "" in dtypes[1:2]
    dim, index = (*map(str, values[1:3]), "", "")[:2]
    is_read = name in _READS
    return RoundOp(at, name, reads, changes, makes, is_read, reads_unseen, nbytes, dim, index)


def _result(name: str, reads: Sequence[SeenTensor], values: Sequence[object]) -> SeenTensor | None:
    dims = result_dims(name, [each.dims for each in reads], values)
    return None if dims is None else SeenTensor(dims, _kind_of_result(name, reads))


def _kind_of_result(name: str, reads: Sequence[SeenTensor]) -> Kind | None:
    kinds = {each.kind for each in reads}
    if name in _COMPARES:
        return Kind.INT if name in _POSITIONS else Kind.BOOL
    if name in VIEWS or None in kinds:
        return reads[0].kind
    if Kind.FLOAT in kinds or name in _MAKES_FLOATS:
        return Kind.FLOAT
    return Kind.INT if Kind.INT in kinds else Kind.BOOL


def _made_of_nothing(
    name: str, like: Sequence[SeenTensor], values: Sequence[object]
) -> SeenTensor | None:
    if name in _LIKE:
        return like[0] if like else None
    dims, dtype = made_dims(name, values)
    if dims is None:
        return None
    if name in _NEW and like:
        return like[0]._replace(dims=dims)
    kind = Kind.INT if name in _INTEGERS else _KINDS.get(dtype, Kind.FLOAT)
    return SeenTensor(dims, kind)


def _kind(dtype: str) -> Kind:
    if dtype == "bool":
        return Kind.BOOL
    return Kind.FLOAT if dtype in _FLOATING else Kind.INT


def _tensors(shapes: Sequence[object], dtypes: Sequence[str]) -> Iterator[SeenTensor]:
    """Yield tensors among inputs. PyTorch records a Python number as a tensor of its own dtype."""
    first = next((each for each in dtypes if each in ITEM_NBYTES), None)
    for at, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=False)):
        if dtype == _LIST and isinstance(shape, tuple):
            yield from (SeenTensor(each, None) for each in shape if is_dims(each))
        elif dtype in ITEM_NBYTES and is_dims(shape):
            is_number = at > 0 and shape == () and dtype != first and dtype in _OF_PYTHON
            if not is_number:
                yield SeenTensor(shape, _kind(dtype))  # type: ignore[arg-type]
