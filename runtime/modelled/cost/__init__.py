"""What each operator makes a modelled device do, and how long that takes.

    plan("aten::mm", [Operand((64, 64), "float32"), ...], [Operand(...)], spec,
         matmul_tf32=False, cudnn_tf32=True)

gives the kernels, in order, each with its time, which is what the slower of memory and cores
takes. operator_plan.py chooses among the kinds of kernels; gemm.py, convolution_kernels.py and
memory_bound.py have the formulas, and docs/modelled-device.md says how near they come to recorded
times. Nothing in this folder knows a Tensor, a stream or the host.
"""

from .kernel_plan import KernelPlan, Operand, names_of, occupancy
from .memory_bound import copy_ns, memset_ns
from .operator_plan import plan

__all__ = ["KernelPlan", "Operand", "copy_ns", "memset_ns"]
__all__ += ["names_of", "occupancy", "plan"]
