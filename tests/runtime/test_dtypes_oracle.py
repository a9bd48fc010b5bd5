"""Promotion, for every pair of dtypes and kinds of operand, as PyTorch has it."""

# ruff: noqa: PERF203, PERF401

import itertools

import pytest

import tidy.runtime as rt

pytestmark = pytest.mark.oracle
DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("a", "b"), list(itertools.product(DTYPES, DTYPES)))
def test_pairs(a, b):
    torch = pytest.importorskip("torch")

    def found(lib, x, y):
        left = lib.ones(x, dtype=getattr(lib, a))
        right = lib.ones(y, dtype=getattr(lib, b))
        names = []
        for f in (lambda: left + right, lambda: left / right, lambda: left == right):
            names.append(str(f().dtype).removeprefix("torch."))
        return names

    if {a[:7], b[:7]} == {"float16", "complex"}:
        pytest.skip("PyTorch has no division of complex32")
    for shapes in (((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())):
        assert found(rt, *shapes) == found(torch, *shapes), shapes


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("number", [True, 2, 2.5, 1j])
def test_numbers(a, number):
    torch = pytest.importorskip("torch")

    def found(lib):
        names = []
        for shape in ((2,), ()):
            x = lib.ones(shape, dtype=getattr(lib, a))
            for f in (lambda x=x: x * number, lambda x=x: number + x, lambda x=x: x / number):
                names.append(str(f().dtype).removeprefix("torch."))
        return names

    if (a, number) == ("float16", 1j):
        pytest.skip("PyTorch has no division of complex32")
    assert found(rt) == found(torch)


@pytest.mark.parametrize("a", DTYPES)
def test_reductions_and_functions(a):
    torch = pytest.importorskip("torch")

    def found(lib):
        x = lib.ones((2, 2), dtype=getattr(lib, a))
        names = []
        for f in (
            "sum",
            "prod",
            "exp",
            "mean",
            "neg",
            "cumsum0",
            "argmax",
            "all",
            "abs",
            "sigmoid",
        ):
            try:
                out = x.cumsum(0) if f == "cumsum0" else getattr(lib, f)(x)
                names.append((f, str(out.dtype).removeprefix("torch."), tuple(out.shape)))
            except (RuntimeError, TypeError) as error:
                names.append((f, type(error).__name__))
        return names

    assert found(rt) == found(torch)
