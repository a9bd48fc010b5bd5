"""Replay: the recorded run as a graph of calls and device activity, run again with a change.

graph.py      the dependencies: calls on host threads, kernels and copies on streams, bounds of
              steps
simulate.py   start and end of each, given how long each takes
edit.py       the change that a fix makes to the graph
savings.py    the time of the steps after the fix
reasons.py    the reason why that is hardly shorter
"""

from .edit import Edit
from .graph import Graph, build_graph
from .reasons import why_little
from .savings import Fidelity, Savings
from .simulate import Simulator

__all__ = ["Edit", "Fidelity", "Graph", "Savings", "Simulator", "build_graph", "why_little"]
