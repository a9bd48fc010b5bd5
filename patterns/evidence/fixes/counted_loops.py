"""Loops that take one element of a tensor after the other, and whose rounds may differ by an if."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Rows, Trace
from tidy.trace.inputs import is_dims
from tidy.trace.kept import kept
from tidy.trace.links import grouped

from ..device.launches import has_name, ops_in_no_op
from ..python.op_names import VIEWS, aten

T = TypeVar("T")
Numbers = NDArray[np.int32]  # of names
# A form that one round alone has is no branch that the others take too.
_FEWEST_OF_A_FORM = 2
_SELECT_INPUTS = 3  # tensor, dim, index
_MOST_DIGITS = 18  # a damaged file may have any text for an index
# They copy or read an element, and compute nothing of it.
_NO_WORK = VIEWS | aten("cat to contiguous clone copy_ item resolve_conj resolve_neg cpu")


class Forms(NamedTuple):
    """What rounds of a loop may look like.

    Attributes:
        alike_share: so many of the rounds have one of the forms.
        most: how many forms there are: branches add operators to some rounds.
    """

    alike_share: float
    most: int


class CountedLoop(NamedTuple):
    """Rounds that take one element after the other.

    Attributes:
        ops: from the first that takes an element to the end of the last round, by start.
        rounds: how many there are.
        dims: of the tensor.
        forms: names of the operators of each form of a round, the most usual first.
        usual_share: so many of the rounds have the first form.
    """

    ops: Rows
    rounds: int
    dims: tuple[int, ...]
    forms: list[Numbers]
    usual_share: float


def counted_loops(
    trace: Trace,
    taking: Rows,
    element_of: Callable[[Trace, int], tuple[tuple[int, ...], int] | None],
    fewest_rounds: int,
    forms: Forms,
    make: Callable[[CountedLoop], T | None],
) -> Iterator[T]:
    """Yield what `make` makes of loops in which so many elements follow each other.

    Of several operators that take an element in a round the first stands for it. The loop begins
    with the first round of one of its forms: what took its first elements before is other code. A
    loop that is made something of hides others between its rounds.

    Args:
        taking: operators that take an element.
        element_of: by the number of an operator's inputs the dims of the tensor, and which element
            is taken, below 1e18; None for others.
    """
    if len(taking) < fewest_rounds:
        return
    numbers = np.flatnonzero(np.bincount(trace.inputs_id[taking] + 1)) - 1
    tensors, elements = dict[tuple[int, ...], int](), np.full(len(numbers), -1)
    tensor_of = np.full(len(numbers), -1)
    for at, number in enumerate(numbers.tolist()):
        if (one := element_of(trace, number)) is not None:
            tensor_of[at], elements[at] = tensors.setdefault(one[0], len(tensors)), one[1]
    for track in np.unique(trace.track_id[taking]).tolist():
        ops = ops_in_no_op(trace, track)
        names = trace.name_id[ops]
        places = np.flatnonzero(np.isin(ops, taking))
        which = np.searchsorted(numbers, trace.inputs_id[ops[places]])
        by_tensor = grouped(tensor_of[which])
        taken = np.zeros(len(ops) + 1, bool)
        for dims, tensor in tensors.items():
            of_tensor = by_tensor.get(tensor, places[:0])
            if len(of_tensor) < fewest_rounds:
                continue
            takings = places[of_tensor]
            for each in _counting_up(takings, elements[which[of_tensor]], fewest_rounds):
                kinds = forms_of_rounds(trace, names, each, forms)
                run = _from_first_form(names, each, kinds, takings)
                if len(run) < fewest_rounds or taken[run[0] : run[-1]].any():
                    continue
                last = run[-1] + len(last_round(names[run[-1] :], kinds))
                usual = sum(names[a:b].tobytes() == kinds[0].tobytes() for a, b in pairwise(run))
                share = usual / (len(run) - 1)
                made = make(CountedLoop(ops[run[0] : last], len(run), dims, kinds, share))
                if made is not None:
                    taken[run[0] : run[-1] + 1] = True
                    yield made


def forms_of_rounds(trace: Trace, names: Numbers, begins: list[int], forms: Forms) -> list[Numbers]:
    """Return the operators of a round, in each of its forms, the most usual first.

    Nothing where the rounds have more forms, or compute nothing.
    """
    rounds = Counter(names[first:last].tobytes() for first, last in pairwise(begins))
    kinds, count = list[Numbers](), 0
    for form, times in rounds.most_common(forms.most):
        kind = np.frombuffer(form, names.dtype)
        if times >= _FEWEST_OF_A_FORM and computes(trace, kind):
            kinds.append(kind)
            count += times
    return kinds if count >= forms.alike_share * (len(begins) - 1) else []


def element_of(trace: Trace, inputs: int) -> tuple[tuple[int, ...], int] | None:
    """Return the dims of a tensor, with the one that is indexed, and the index; None if unknown."""
    shapes, values = trace.inputs.shapes(inputs), trace.inputs.concrete(inputs)
    if len(values) < _SELECT_INPUTS or not shapes or not is_dims(shapes[0]):
        return None
    dim, index = index_of(values[1]), index_of(values[2])
    return None if dim is None or index is None else ((*shapes[0], dim), index)


def index_of(text: object) -> int | None:
    """Return the index that the text of an input is, None for any other text."""
    digits = str(text)
    return int(digits) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def computes(trace: Trace, names: Numbers) -> bool:
    """Tell whether an operator with one of these names computes something."""
    return bool((~_is_no_work(trace)[names]).any())


@kept
def _is_no_work(trace: Trace) -> NDArray[np.bool_]:
    return has_name(trace, *_NO_WORK)


def last_round(names: Numbers, kinds: Sequence[Numbers]) -> Numbers:
    """Return the longest form of a round that these names begin with, else the first name alone."""
    fitting = [kind for kind in kinds if np.array_equal(names[: len(kind)], kind)]
    return max(fitting, key=len, default=names[:1])


def _from_first_form(
    names: Numbers, run: list[int], kinds: Sequence[Numbers], takings: NDArray[np.int64]
) -> list[int]:
    """Return where rounds begin, without those before the first round of one of the forms.

    Args:
        run: where each element is first taken; that may be long before the round that it is of.
        takings: all operators that take an element, also again, ascending.
    """
    for at, (first, end) in enumerate(pairwise(run)):
        for kind in sorted(kinds, key=len, reverse=True):
            begin = end - len(kind)
            if begin >= first and np.array_equal(names[begin:end], kind):
                number = int(np.searchsorted(takings, begin))
                if takings[number] == begin:
                    return [begin, *run[at + 1 :]]
    return []


def _counting_up(
    places: NDArray[np.int64], elements: NDArray[np.int64], fewest: int
) -> Iterator[list[int]]:
    """Stretches in which so many elements follow each other: where each is first taken."""
    is_new = np.append(True, np.diff(elements) != 0)[: len(elements)]
    places, elements = places[is_new], elements[is_new]
    for run in np.split(places, np.flatnonzero(np.diff(elements) != 1) + 1):
        if len(run) >= fewest:
            yield run.tolist()
