"""What is asked of the runtime and of PyTorch: the same call, and how far the answers may differ.

The plain suite compares the runtime's answers with those that PyTorch gave when
tests/data/make_golden.py was run; the oracle tests ask the PyTorch that is installed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tidy.runtime.ops.make.table import PUBLIC

from . import (
    broadcasting,
    dtype_deviations,
    samples,
    samples_exact,
    scripts,
    scripts_in_place,
    scripts_of_functions,
    scripts_of_graph_tools,
    scripts_of_hooks,
    scripts_of_modes,
    wrong_calls,
)
from . import questions_averages as averages
from . import questions_checkpoint as checkpoint
from . import questions_data as data
from . import questions_foreach as foreach
from . import questions_functions as functions
from . import questions_modules as modules
from . import questions_nn as layers
from . import questions_optim as optimizers
from . import questions_schedules as schedules
from . import questions_sequences as sequences
from . import questions_sparse as sparse
from . import questions_training as training
from . import questions_trees as trees
from .answers import padded, plain, same
from .samples import SAMPLES, Sample
from .samples_in_place import IN_PLACE
from .samples_plain import PLAIN, names, seen
from .tables import functions_of

Key = str


@dataclass(frozen=True)
class Group:
    """Questions of one kind. `ask` is called with a library and a question."""

    name: str
    questions: Mapping[Key, Any]
    ask: Callable[[Any, Any], Any]
    compare: Callable[[Any, Any, Any], None]  # question, our answer, PyTorch's; may fail
    # Where the runtime is known to answer otherwise: the subjects of such questions.
    deviations: frozenset[str] = frozenset()
    subject: Callable[[Key], str] = field(default=lambda key: key)

    def answers(self, lib: Any) -> dict[Key, Any]:
        """What a library answers to each question; an error that is no answer is one here."""
        found = {}
        with np.errstate(all="ignore"):
            for key, question in self.questions.items():
                try:
                    found[key] = plain(self.ask(lib, question))
                except Exception as error:  # noqa: PERF203
                    found[key] = f"failed with {type(error).__name__}: {error}"
        return found

    def differences(self, ours: Mapping[Key, Any], theirs: Mapping[Key, Any]) -> dict[Key, str]:
        """{question: how the answers differ}."""
        found = {}
        for key, question in self.questions.items():
            try:
                self.compare(question, ours[key], theirs[key])
            except AssertionError as error:  # noqa: PERF203
                found[key] = f"ours: {ours[key]!r}, PyTorch's: {theirs[key]!r}; {error}"[:2000]
        return found


def _exactly(_question: Any, ours: Any, theirs: Any) -> None:
    assert ours == theirs


def _nearly(relative: float, absolute: float) -> Callable[[Any, Any, Any], None]:
    return lambda _, ours, theirs: same(ours, theirs, lambda _: (relative, absolute), absolute)


def _as_floats_may(_question: Any, ours: Any, theirs: Any) -> None:
    same(ours, theirs, _tolerance)


def _tolerance(dtype: np.dtype) -> tuple[float, float]:
    single = dtype.itemsize == 4 or dtype.name == "complex64"
    return (1e-6, 1e-6) if single else (1e-3, 1e-3) if dtype == np.float16 else (1e-12, 1e-12)


def _named(names: Iterable[Key]) -> dict[Key, Any]:
    return {name: name for name in names}


# Scripts


def rounded(x: Any) -> Any:
    """Floats to 12 digits: the two libraries' exp differ in the last bit."""
    if isinstance(x, float):
        return float(f"{x:.12g}")
    return [rounded(each) for each in x] if isinstance(x, (list, tuple)) else x


_FILES = (scripts, scripts_in_place, scripts_of_functions, scripts_of_graph_tools,
          scripts_of_hooks, scripts_of_modes)  # fmt: skip
SCRIPTS = {f.__name__: f for file in _FILES for f in functions_of(vars(file), "(torch)")}
ENGINE = Group("scripts", SCRIPTS, lambda lib, script: rounded(list(script(lib))), _exactly)

# Wrong calls


def _class_of_error(code: str, ours: str, theirs: str) -> None:
    assert (ours, theirs) == wrong_calls.LISTED.get(code, (theirs, theirs))


WRONG_CALLS = Group("wrong_calls", _named(wrong_calls.CALLS), wrong_calls.end, _class_of_error)

# Operators


def _keys(every: list[Sample]) -> dict[Key, Sample]:
    """Some expressions are asked of several shapes."""
    return {f"{s.code} {' '.join(map(str, s.shapes))}": s for s in every}


OPERATORS = Group(
    "operators",
    _keys([*SAMPLES, *IN_PLACE]),
    samples.run,
    lambda sample, ours, theirs: padded(ours, theirs, sample.rtol, 1e-11),
)


def _complex(lib: Any, sample: Sample) -> Any:
    """As an operator's answer, on complex inputs."""
    try:
        return samples.run(lib, sample, imaginary=True)
    except (RuntimeError, TypeError, ValueError):
        return "raises"


def _compare_complex(sample: Sample, ours: Any, theirs: Any) -> None:
    if theirs == "raises":
        return  # dtype_deviations.py has what is here and not there
    padded(ours, theirs, max(sample.rtol, 1e-8), 1e-10)


_WITHOUT = "torch.logaddexp(x, y)"  # numpy has none of complex numbers
_OF_COMPLEX = {key: s for key, s in OPERATORS.questions.items() if s.code != _WITHOUT}
_BROADCAST = {f"{row[0]} {' '.join(map(str, row[1]))}": row for row in broadcasting.EVERY}
BY_OPERATOR = [
    Group("operators_complex", _OF_COMPLEX, _complex, _compare_complex),
    Group(
        "operators_plain",
        _named(PLAIN),
        lambda lib, code: seen(eval(code, names(lib))),  # noqa: S307
        _as_floats_may,
    ),
    Group(
        "broadcasting",
        _BROADCAST,
        lambda lib, question: broadcasting.outcome(lib, *question),
        lambda _, ours, theirs: same(ours, theirs, lambda _: (1e-5, 1e-6)),
    ),
]

EXACT = [
    Group(
        f"exact_{name}",
        _named(codes),
        samples_exact.outcome,
        lambda _, ours, theirs: same(ours, theirs, _tolerance, 1e-9),
    )
    for name, codes in samples_exact.GROUPS.items()
]

# Dtypes

_KNOWN = {name for each in PUBLIC.values() for name in each} - {"t"}


def operator_of(code: str) -> str:
    """The operator that a sample is of: the first public name in it, or all of it."""
    words = re.findall(r"lambda t: t\.(\w+)", code) or re.findall(r"\w+", code)
    return next((name for name in words if name in _KNOWN), code)


def _kinds(value: Any) -> Any:
    if isinstance(value, list):
        return [_kinds(each) for each in value]
    if isinstance(value, np.ndarray):
        return [value.dtype.name, list(value.shape)]
    return type(value).__name__


def _kinds_of_answer(dtype: str, lib: Any, sample: Sample | str) -> Any:
    """Dtypes and shapes of the result, or `raises`."""
    try:
        if isinstance(sample, str):
            return _kinds(seen(eval(sample, names(lib, dtype))))  # noqa: S307
        tensors = [lib.tensor(a).to(getattr(lib, dtype)) for a in samples.arrays(sample)]
        return _kinds(seen(samples.evaluate(lib, sample, tensors)))
    except (RuntimeError, TypeError, ValueError, IndexError):
        return "raises"


def _in_dtype(dtype: str) -> Group:
    questions: dict[Key, Any] = dict(OPERATORS.questions)
    if dtype not in {"uint8", "bool"}:
        questions |= {code: code for code in PLAIN if re.search(r"\b[xy]\b", code)}
    codes = {key: q if isinstance(q, str) else q.code for key, q in questions.items()}
    listed = (rows.get(dtype, ()) for rows in dtype_deviations.DEVIATIONS.values())
    return Group(
        f"dtypes_{dtype}",
        questions,
        partial(_kinds_of_answer, dtype),
        _exactly,
        frozenset(itertools.chain(*listed)),
        lambda key: operator_of(codes[key]),
    )


DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
_NUMBERS = {"True": True, "2": 2, "2.5": 2.5, "1j": 1j}
_HALF = "float16"  # PyTorch has no division of complex32


def _promotions() -> dict[Key, Any]:
    pairs = {
        f"{a} {b}": (a, b)
        for a, b in itertools.product(DTYPES, DTYPES)
        if {a[:7], b[:7]} != {_HALF, "complex"}
    }
    numbers = {
        f"{a} {text}": (a, number)
        for a, (text, number) in itertools.product(DTYPES, _NUMBERS.items())
        if (a, text) != (_HALF, "1j")
    }
    return pairs | numbers | {a: (a, None) for a in DTYPES}


def _promoted(lib: Any, question: tuple[str, Any]) -> list[Any]:
    """Dtypes of results: of two tensors, a tensor and a number, or functions of one tensor."""
    first, second = question
    dtype = getattr(lib, first)
    shapes = ((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())
    if isinstance(second, str):
        other = getattr(lib, second)
        made = [(lib.ones(a, dtype=dtype), lib.ones(b, dtype=other)) for a, b in shapes]
        return [_name(each) for x, y in made for each in (x + y, x / y, x == y)]
    if second is not None:
        made = [lib.ones(shape, dtype=dtype) for shape in ((2,), ())]
        return [_name(each) for x in made for each in (x * second, second + x, x / second)]
    x = lib.ones((2, 2), dtype=dtype)
    calls = [partial(getattr(lib, name), x) for name in _FUNCTIONS]
    return [_shape_or_error(call) for call in (*calls, partial(x.cumsum, 0))]


_FUNCTIONS = "sum prod exp mean neg argmax all abs sigmoid".split()


def _shape_or_error(call: Callable[[], Any]) -> Any:
    try:
        out = call()
    except (RuntimeError, TypeError) as error:
        return type(error).__name__
    return [_name(out), list(out.shape)]


def _name(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


# Modules, optimizers and what else is asked

MODULES = {f.__name__: f for f in (*layers.SCRIPTS, *modules.SCRIPTS, *training.SCRIPTS)}
OPTIMIZERS = Group(
    "optimizers",
    optimizers.VARIANTS,
    optimizers.steps_and_state,
    lambda question, ours, theirs: _nearly(*[optimizers.tolerance(question)] * 2)(
        question, ours, theirs
    ),
)
CHECKPOINTS = Group(
    "checkpoints",
    checkpoint.CHECKPOINTS,
    lambda lib, question: rounded(question[0](lib, lib.utils.checkpoint, question[1])),
    _exactly,
)
GROUPS = [
    *(ENGINE, WRONG_CALLS, OPERATORS, *BY_OPERATOR, *EXACT),
    Group("promotion", _promotions(), _promoted, _exactly),
    Group("layers", {row[0]: row for row in layers.LAYERS}, layers.layer, _nearly(2e-4, 2e-5)),
    Group("layers_in_place", _named(layers.IN_PLACE), layers.in_place, _nearly(1e-5, 1e-7)),
    Group("modules", MODULES, lambda lib, script: list(script(lib)), _nearly(1e-5, 1e-6)),
    OPTIMIZERS,
    Group("steps", optimizers.VARIANTS, optimizers.operators, optimizers.same_operators),
    *(
        Group(name, questions, ask, _nearly(tolerance, tolerance))
        for name, questions, ask, tolerance in (
            ("rates", schedules.RATES, schedules.scheduled, 1e-12),
            ("schedulers", _named(schedules.SCHEDULES), schedules.state_of_scheduler, 1e-12),
            ("resumed", schedules.RESUMED, schedules.resumed, 1e-12),
            ("plateaus", schedules.PLATEAUS, schedules.plateau, 1e-12),
            ("annealed", averages.ANNEALED, averages.annealed, 1e-12),
            ("averages", _named(averages.AVERAGES), averages.averaged, 1e-9),
            ("lbfgs", averages.SEARCHES, averages.searched, 1e-8),
            ("clipped", averages.CLIPS, averages.clipped, 1e-5),
            ("complex_parameters", averages.COMPLEX, averages.of_complex, 1e-6),
        )
    ),
    Group("mistakes", _named(optimizers.MISTAKES), optimizers.mistake, _exactly),
    Group("recurrent", sequences.RECURRENT, sequences.recurrent, _nearly(1e-9, 1e-10)),
    Group("sequences", sequences.EXPRESSIONS, sequences.expression, _nearly(1e-9, 1e-10)),
    Group("derivatives", functions.DERIVATIVES, functions.outcome, _nearly(1e-10, 1e-12)),
    CHECKPOINTS,
    Group("sparse", sparse.SPARSE, sparse.asked, _nearly(1e-12, 1e-12)),
    Group("data", data.DATA, data.outcome, _nearly(0, 0)),
    Group("foreach", foreach.EVERY, foreach.outcomes, _as_floats_may),
    Group("autocast", foreach.AUTOCAST, foreach.lowers, _exactly),
    Group("trees", trees.TREES, trees.of, _exactly, trees.LISTED),
    *map(_in_dtype, "float32 float16 complex64 int64 uint8 bool".split()),
]
