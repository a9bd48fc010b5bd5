"""How much of PyTorch's database of operators the runtime has, and has right."""

import pytest

from ..environment import SOAK

pytestmark = [pytest.mark.oracle, pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


def test_nearly_all_that_is_named_is_as_in_pytorch():
    pytest.importorskip("torch")
    pytest.importorskip("expecttest")  # the database is part of PyTorch's own tests, which need it
    from . import op_db

    summary, told = op_db.Summary(), []
    for entry in op_db.entries():
        outcome = op_db.ask(entry, count=2 if SOAK else 1)
        summary.add(outcome)
        told += [f"{outcome.name}: {each}" for each in outcome.differences]
    assert summary.entries >= 400, summary
    assert summary.whole >= 0.98 * summary.entries, (str(summary), told)
    assert summary.right >= 0.95 * summary.wrong_calls, str(summary)
