"""Replay: the recorded run as a graph of calls and device work, run again with a change in it.

graph.py      what waits for what: calls on host threads, work on streams, bounds of steps
simulate.py   when each begins and ends, given how long each takes
edit.py       what a fix changes in the graph
savings.py    how long the steps take then
reasons.py    why that is hardly shorter
"""

from .edit import Edit
from .graph import Graph, build_graph
from .reasons import why_little
from .savings import Fidelity, Savings
from .simulate import Simulator

__all__ = ["Edit", "Fidelity", "Graph", "Savings", "Simulator", "build_graph", "why_little"]
