"""Time in a script's own code has a line: that of what it starts next, or of what it launched."""

from __future__ import annotations

from tidy.account import make_accounts
from tidy.trace.outline import parse_outline

from ..conftest import ReadEvents
from ..trace.kineto import call, frame, kernel


def _python(outline: str) -> dict[str, int]:
    """The places of Python between operators, and their time in us."""
    (account,) = make_accounts(parse_outline(outline))
    (part,) = [each for each in account.parts if each.cause == "python"]
    return {str(each.location): each.time_ns // 1000 for each in part.places}


def test_it_is_that_of_the_next_operator() -> None:
    """An operator begins 1 us after the one before has ended."""
    places = _python(
        "train.py(1): <module> 30us\n"
        "  aten::mm 5us @train.py(9): <module>\n"
        "  aten::mm 5us @train.py(9): <module>\n"
        "  aten::add 5us @train.py(12): <module>\n"
    )
    # What comes after the last operator is before none.
    assert places == {"train.py:1": 30 - 3 - 15, "train.py:9": 2, "train.py:12": 1}


def test_functions_keep_theirs() -> None:
    places = _python(
        "train.py(1): <module> 40us\n"
        "  train.py(3): step 20us\n"
        "    aten::mm 5us @train.py(5): step\n"
        "  aten::mm 5us @train.py(9): <module>\n"
    )
    assert places["train.py:3"] == 20 - 5
    assert places["train.py:9"] >= 1


def test_without_lines_it_is_the_first_one() -> None:
    places = _python("train.py(1): <module> 30us\n  aten::mm 5us\n  aten::add 5us\n")
    assert places == {"train.py:1": 20}


def test_what_a_graph_computes_has_the_line_that_launched_it(read_events: ReadEvents) -> None:
    launched = call("cudaGraphLaunch", 10, 8, 1)
    launched["args"]["Call stack"] = "/home/train.py(22): <module>"
    trace = read_events(
        [
            frame("/home/train.py(1): <module>", 0, 100),
            launched,
            kernel("gemm", 20, 30, correlation=1),
        ]
    )
    (account,) = make_accounts(trace)
    (part,) = [each for each in account.parts if each.part == "compute"]
    assert [str(each.location) for each in part.places] == ["/home/train.py:22"]
