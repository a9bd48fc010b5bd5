"""The engine's two loops do the same; test_engine.py has what each hands to the other."""

import pytest

import tidy.runtime as rt
from tidy.runtime.engine import engine

from .questions import ENGINE


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", ENGINE.questions.values(), ids=ENGINE.questions)
def test_scripts_say_the_same(script, monkeypatch):
    plain = list(script(rt))
    monkeypatch.setattr(engine, "ALWAYS_FULL", True)
    assert list(script(rt)) == plain


def test_the_plain_loop_is_enough_where_nobody_interferes(monkeypatch):
    monkeypatch.setattr(engine, "run_full", None)
    x = rt.tensor([2.0, 3.0], requires_grad=True)
    y = x.exp()
    (y * y + y).sum().backward()
    expected = [2 * e * e + e for e in (7.38905609893065, 20.085536923187668)]
    assert x.grad.tolist() == pytest.approx(expected)
