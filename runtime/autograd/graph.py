"""torch.autograd.graph's names."""

from ..engine.graph_task import GraphTask
from ..engine.node import Node
from ..engine.saved_variable import saved_tensors_hooks
from ..engine.tensor import gradient_edge as get_gradient_edge

__all__ = ["GraphTask", "Node", "get_gradient_edge", "saved_tensors_hooks"]
