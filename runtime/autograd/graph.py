"""torch.autograd.graph's names."""

from ..engine import GraphTask
from ..node import Node
from ..saved_variable import saved_tensors_hooks
from ..tensor import gradient_edge as get_gradient_edge

__all__ = ["GraphTask", "Node", "get_gradient_edge", "saved_tensors_hooks"]
