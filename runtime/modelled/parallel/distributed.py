"""DistributedDataParallel: a lasting replica on each device, whose gradients are averaged.

PyTorch has a process for each device. Here one process has all of them: a forward cuts the batch
up, runs the replicas one after the other, and puts their outputs together. The loss is of the whole
batch then, so outputs pass their gradients on times the number of devices, and inputs theirs
divided by it: each replica sees the gradients of the mean over its own piece, as in a process of
its own, and what all parameters get in the end are the gradients of the loss.

Every replica has leaves of its own and `parameters()` has them all, so one optimizer updates each
replica on its device. An optimizer that has the parameters of the first alone will do too: the next
forward broadcasts them.
Source: torch/nn/parallel/distributed.py.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from ...engine.grad_mode import is_grad_enabled, no_grad
from ...engine.hooks import check
from ...engine.tensor import Tensor
from ...nn.module import Module
from ...nn.parameter import Parameter
from ...observe.record_function import record_function
from .. import communication as comm
from ..modelled_device import devices
from .buckets import BUCKET_NBYTES
from .data_parallel_module import check_on, numbers_of, output_index
from .functions import Gather, ScaleGrad, Scatter
from .parallel_apply import parallel_apply
from .reducer import Reducer, leaves_of
from .scatter_gather import gather_map, same_length, scatter_map, tensors_of

T = TypeVar("T", bound="DistributedDataParallel")
_NEEDLESS = (
    "DistributedDataParallel is not needed when a module doesn't have any parameter that requires "
    "a gradient."
)
_STAYS = (
    "the replicas stay on their devices, with their dtypes: move or convert the module before it "
    "is given to DistributedDataParallel"
)


class DistributedDataParallel(Module):
    """Runs `module` on several devices, and averages the gradients in buckets during backward.

    Gradients are to be clipped for each of `replicas` by itself: they are the same in all.

    Args:
        module: on the first of the devices.
        device_ids: all by default; without devices, and on one, the module is called as it is.
        output_device: where outputs are put together; the first of `device_ids` by default.
        dim: along which batches are cut.
        broadcast_buffers: whether each forward gives all replicas the first one's buffers.
        bucket_cap_mb: the size of a bucket; by default 1 MiB for the first, 25 for the others.
        find_unused_parameters: look for parameters that take no part in the outputs.
        gradient_as_bucket_view: have `.grad` be a view of its bucket.
        gather_outputs: False gives a list of each replica's outputs, on its own device.

    Raises:
        RuntimeError: the module is not on the first device, or no parameter needs a gradient.
        ValueError: a bucket of no size.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        *,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        gradient_as_bucket_view: bool = True,
        gather_outputs: bool = True,
    ) -> None:
        super().__init__()
        wrong = f"bucket_cap_mb must be greater than 0, not {bucket_cap_mb}"
        check(bucket_cap_mb is None or bucket_cap_mb > 0, wrong, ValueError)
        check(any(param.requires_grad for param in module.parameters()), _NEEDLESS)
        self.module, self.dim = module, dim
        self.broadcast_buffers, self.gather_outputs = broadcast_buffers, gather_outputs
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self.reducer: Reducer | None = None
        self.device_ids: list[int] = []
        self._others: list[Module] = []  # in a list, and so not among the submodules
        self._rows: list[list[Any]] = []  # every replica's parameters
        self._marks: list[Any] = []  # their memory and versions when they were last equal
        if not devices:
            return
        self.device_ids = ids = numbers_of(device_ids)
        apart = 0 < len(ids) == len(set(ids))
        check(apart, f"device_ids must be different devices, not {ids}", ValueError)
        self.output_device = ids[0] if output_device is None else output_index(output_device)
        check_on(module, ids[0])
        if len(ids) == 1:
            return
        self._others = _replicas(module, ids)
        self._rows = [list(each.parameters()) for each in self.replicas]
        self._note_versions()
        names = [name for name, p in module.named_parameters() if p.requires_grad]
        rows = [[p for p in each.parameters() if p.requires_grad] for each in self.replicas]
        limits = BUCKET_NBYTES if bucket_cap_mb is None else (int(bucket_cap_mb * (1 << 20)),)
        self.reducer = Reducer(rows, names, ids, limits, gradient_as_bucket_view)

    @property
    def replicas(self) -> list[Module]:
        """The module on each device, the given one first."""
        return [self.module, *self._others]

    # -- forward --------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's outputs for the whole batch, or a list of the replicas'.

        Raises:
            RuntimeError: parameters got no gradient in the backward before.
        """
        with record_function("DistributedDataParallel.forward"):
            reducer = self.reducer
            if reducer is not None and is_grad_enabled():
                reducer.prepare(self.require_backward_grad_sync)
            if not self.device_ids:
                return self.module(*inputs, **kwargs)
            self._follow()
            args, keywords = same_length(self._cut(inputs), self._cut(kwargs))
            if not args:
                args, keywords = ((),) * len(self.device_ids), ({},) * len(self.device_ids)
            if reducer is None:
                output = self.module(*args[0], **keywords[0])
                return output if self.gather_outputs else [output]
            count = len(args)
            outputs = parallel_apply(self.replicas[:count], args, keywords, self.device_ids[:count])
            if is_grad_enabled() and reducer.enabled:
                reducer.unused = self._unused(reducer, outputs)
            for tensor in tensors_of(outputs):
                if tensor._node is not None:  # the graph needs the reducer, should this object end
                    tensor._node.metadata[f"reducer {id(reducer):#x}"] = reducer
            return gather_map(outputs, self._join) if self.gather_outputs else outputs

    def _cut(self, given: Any) -> list[Any]:
        share = 1 / len(self.device_ids)

        def cut(x: Tensor) -> Any:
            if self.gather_outputs and x.requires_grad and is_grad_enabled():
                x = ScaleGrad.apply(x, share)
            return Scatter.apply(self.device_ids, None, self.dim, x)

        return scatter_map(given, cut, len(self.device_ids)) if given else []

    def _join(self, *outputs: Tensor) -> Any:
        whole = Gather.apply(self.output_device, self.dim, *outputs)
        return ScaleGrad.apply(whole, float(len(self.device_ids))) if whole._rg else whole

    def _unused(self, reducer: Reducer, outputs: list[Any]) -> set[tuple[int, int]]:
        """Parameters without a gradient: those of devices that got no piece of the batch, too."""
        idle = range(len(outputs), len(reducer.rows))
        unused = {(row, number) for row in idle for number in range(len(reducer.rows[row]))}
        if self.find_unused_parameters:
            with record_function("torch.distributed.ddp.reducer::search_unused_parameters"):
                for row, params in enumerate(reducer.rows[: len(outputs)]):
                    used = leaves_of([*tensors_of(outputs[row])])
                    unused |= {(row, n) for n, param in enumerate(params) if id(param) not in used}
        return unused

    # -- replicas -------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Bring the replicas' buffers up to date, and their parameters if the first's changed."""
        if not self._others:
            return
        if self._have_diverged():
            self._broadcast(self._rows)
            for row in self._rows[1:]:  # who steps the first alone clears its gradients alone
                for param in row:
                    param.grad = None
        if self.broadcast_buffers:
            self._broadcast([list(each.buffers()) for each in self.replicas])
        self._note_versions()

    def _broadcast(self, rows: list[list[Any]]) -> None:
        if not rows[0]:
            return
        copies = comm.broadcast_coalesced(rows[0], self.device_ids)
        with no_grad():
            for row, values in zip(rows[1:], copies[1:], strict=True):
                for tensor, value in zip(row, values, strict=True):
                    tensor.copy_(value)

    def _note_versions(self) -> None:
        self._marks = [[(p.array, p._version) for p in row] for row in self._rows]

    def _have_diverged(self) -> bool:
        """Whether something else than a step for all replicas has changed parameters."""
        changes = []
        for row, marks in zip(self._rows, self._marks, strict=True):
            if any(p.array is not array for p, (array, _) in zip(row, marks, strict=True)):
                return True
            changes.append([p._version - v for p, (_, v) in zip(row, marks, strict=True)])
        return any(each != changes[0] for each in changes[1:])

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Forwards in it have their gradients accumulated on each device, and not averaged.

        The first backward of a forward after it averages what has come together.
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    # -- what concerns all replicas -------------------------------------------------------------

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The module's as `module.NAME`, then the replicas' as `replica_1.NAME`."""
        start = f"{prefix}." if prefix else ""
        for row, each in enumerate(self.replicas if recurse else []):
            inside = f"{start}{f'replica_{row}' if row else 'module'}"
            yield from each.named_parameters(inside, True, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """Of all replicas, for the optimizer."""
        return (param for _, param in self.named_parameters(recurse=recurse))

    def train(self: T, mode: bool = True) -> T:
        """Set `training` in all replicas."""
        super().train(mode)
        for each in self._others:
            each.train(mode)
        return self

    def eval(self: T) -> T:
        return self.train(False)

    def _apply(self: T, fn: Callable[[Tensor], Tensor]) -> T:
        check(self.reducer is None, _STAYS)
        return super()._apply(fn)


def _replicas(module: Module, devices: list[int]) -> list[Module]:
    """Copies of a module for all devices but the first, with leaves of their own."""
    tensors = [*module.parameters(), *module.buffers()]
    with no_grad():
        rows = comm.broadcast_coalesced(tensors, devices)
        replicas = []
        for row in rows[1:]:
            memo: dict[int, Any] = {}
            for tensor, value in zip(tensors, row, strict=True):
                own = value.clone()
                if isinstance(tensor, Parameter):
                    own = Parameter(own, tensor.requires_grad)
                if tensor._grad is not None:
                    own.grad = tensor._grad.to(own.device)
                memo[id(tensor)] = own
            replicas.append(copy.deepcopy(module, memo))
    return replicas
