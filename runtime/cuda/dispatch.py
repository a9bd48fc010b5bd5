"""Every operator, seen by the modelled device: numpy runs it, and the model says what it costs.

    aten::addmm(bias, x, w)        on cuda:0, stream 7
      numpy computes               its time is taken out of the host's (clock.py)
      cudaLaunchKernel             the host's time, one for each kernel (modelled_device.py)
        => ampere_sgemm_...        the stream's time, by the operands' shapes (cost.py)

An operator is one of a few kinds: it computes, copies, makes a tensor of nothing, reads a value for
the host, only looks at memory (a view), or is made of other operators. Operands on two devices are
an error, but for numbers (0-dim tensors on the CPU). What formulas make of nothing inside
another operator, or in backward, is taken to be made on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import backends
from ..device import Device
from ..record_function import active
from ..storage import Storage, owner_of, storage_of, storages
from ..tensor import Tensor
from . import activity, clock, transfer
from .cost import KernelPlan, Operand, memset_ns, plan
from .kinds import FILLS, Kind, kind_of
from .modelled_device import ModelledDevice, correlations, kernel_args, log_call, log_work
from .placement import device_of, place
from .state import current_stream, depth, device_index, devices
from .streams import Stream, refuse_in_capture

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Dispatcher:
    """The interposer (see record_function.py) that stands nearest to the operators."""

    def __init__(self) -> None:
        self._plans: dict[Any, tuple[KernelPlan, ...]] = {}
        self._handlers: dict[Kind, Callable[..., Any]] = {
            Kind.COMPUTES: self._compute,
            Kind.VIEW: self._view,
            Kind.COMPOSITE: self._composite,
            Kind.FUNCTION: self._function,
            Kind.COPIES: self._copy,
            Kind.MAKES: self._make,
            Kind.READS: self._read,
        }
        self._by_name: dict[str, Callable[..., Any]] = {}

    # -- what observers do ----------------------------------------------------------------------

    def op(self, name: str, inner: Callable[..., Any], args: Args, kwargs: Any = None) -> Any:
        handler = self._by_name.get(name)
        if handler is None:
            handler = self._by_name[name] = self._handlers[kind_of(name)]
        return handler(name, inner, args, kwargs or {})

    def node(self, node: Any, grads: Any, validate: Any) -> Any:
        outputs = node.apply(grads)
        return outputs if validate is None else validate(node, outputs)

    def backward(self, run: Callable[..., Any], *args: Any) -> Any:
        return run(*args)

    def internal(self, run: Callable[..., Any], *args: Any) -> Any:
        return run(*args)

    def enter(self, record: Any) -> None:
        """Ranges are nothing to a device."""

    def exit(self, record: Any, context: Any) -> None:
        """As above."""

    # -- kinds of operators ---------------------------------------------------------------------

    def _composite(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        if depth.inside == 0 and storages and name != "aten::to":
            _common_device(name, _tensors((*args, *kwargs.values())))
        depth.inside += 1
        try:
            return inner(*args, **kwargs)
        finally:
            depth.inside -= 1

    def _function(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        """A Function of the user's, whose operators are the user's too."""
        before, depth.inside = depth.inside, 0
        try:
            out = inner(*args, **kwargs)
        finally:
            depth.inside = before
        _note_streams(out)
        return out

    def _view(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        out = inner(*args, **kwargs)
        if storages:
            _note_streams(out)
        return out

    def _compute(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        if not storages:
            return inner(*args, **kwargs)
        tensors = list(_tensors((*args, *kwargs.values()) if kwargs else args))
        index = _common_device(name, tensors)
        if index is None:
            return inner(*args, **kwargs)
        device, stream = devices[index], current_stream(index)
        clock.open_stretch()
        cost = 0
        try:
            ins = [_taken_over(x, device, stream) for x in tensors]
            out = inner(*args, **kwargs)
            outs = list(_tensors((out,)))
            written = [place(x, device, stream) for x in outs]
            cost = self.launch(name, tensors, ins, outs, written, stream)
        finally:
            clock.close_stretch(cost)
        if stream.capture is not None:
            stream.capture.add(inner, args, kwargs, outs)
        _note_streams(out)
        return out

    def _make(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        """Out of nothing. What PyTorch fills in an operator of its own is filled in one here."""
        device, args, kwargs = _without_device(args, kwargs)
        if device is None:
            out = inner(*args, **kwargs)
        else:
            stream, cost = current_stream(device), 0
            clock.open_stretch()
            try:
                out = inner(*args, **kwargs)
                storage = place(out, devices[device], stream)
                if name not in FILLS and name != "aten::empty":
                    cost = self.launch(name, [], [], [out], [storage], stream)
            finally:
                clock.close_stretch(cost)
            if stream.capture is not None:
                stream.capture.add(inner, args, kwargs, [out])
        if name in FILLS:
            active[0].op(FILLS[name], _itself, (out,))
        return out

    def _copy(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        source = args[1] if len(args) > 1 and storages else None
        if not isinstance(source, Tensor) or device_of(args[0]) == device_of(source):
            return self._compute(name, inner, args, kwargs)
        blocking = not (args[2] if len(args) > 2 else kwargs.get("non_blocking"))
        out = transfer.between(inner, args, kwargs, blocking)
        _note_streams(out)
        return out

    def _read(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        """A value, or a shape that depends on values: the host waits for it."""
        index = device_of(args[0]) if storages else None
        if index is None:
            return inner(*args, **kwargs)
        device, stream = devices[index], current_stream(index)
        refuse_in_capture(stream, name)
        clock.open_stretch()
        cost = 0
        try:
            out = inner(*args, **kwargs)
            outs = list(_tensors((out,)))
            if outs:  # _local_scalar_dense has none: it only copies
                written = [place(x, device, stream) for x in outs]
                ins = [storage_of(args[0])]
                cost = self.launch(name, [args[0]], ins, outs, written, stream)
        finally:
            clock.close_stretch(cost)
        transfer.read_back(args[0], stream)
        return out

    # -- launching ------------------------------------------------------------------------------

    def launch(
        self,
        name: str,
        tensors: list[Any],
        ins: list[Storage | None],
        outs: list[Any],
        written: list[Storage | None],
        stream: Stream,
    ) -> int:
        """Put the kernels of an operator on a stream; gives what that takes the host."""
        tf32 = backends.cuda.matmul.allow_tf32, backends.cudnn.allow_tf32
        device = stream.owner
        key = (
            name,
            device.spec.key,
            tf32,
            tuple([(x.array.shape, x.array.dtype, x.array.flags.forc) for x in tensors]),
            tuple([(x.array.shape, x.array.dtype) for x in outs]),
        )
        plans = self._plans.get(key)
        if plans is None:
            plans = self._plans[key] = plan(
                name,
                [_operand(x) for x in tensors],
                [_operand(x) for x in outs],
                device.spec,
                matmul_tf32=tf32[0],
                cudnn_tf32=tf32[1],
            )
        if stream.capture is not None:
            stream.capture.plans += plans
            return 0
        start = host = clock.now_ns()
        if name == "aten::zero_":
            host = launch_memset(outs[0].array.nbytes, written, stream, host)
        else:
            for each in plans:
                host = launch_kernel(each, ins, written, stream, host)
        return host - start


def launch_kernel(
    each: KernelPlan,
    ins: Iterable[Storage | None],
    written: Iterable[Storage | None],
    stream: Stream,
    host_ns: int,
    call: str = "cudaLaunchKernel",
) -> int:
    """One kernel, launched at `host_ns`; when the host goes on."""
    device = stream.owner
    after = device.launched(host_ns)
    blocks = each.grid[0] * each.grid[1] * each.grid[2]
    engine = device.compute if blocks >= device.spec.sm_count else None
    span = device.run(stream, after, each.duration_ns, engine)
    if activity.logs:
        correlation = next(correlations)
        log_call(call, host_ns, after, correlation)
        reads = tuple([s.number for s in ins if s is not None])
        writes = tuple([s.number for s in written if s is not None])
        args = kernel_args(each, device.spec)
        log_work("kernel", each.name, span, stream, correlation, 0, args, reads, writes)
    return after


def launch_memset(
    nbytes: int, written: Iterable[Storage | None], stream: Stream, host_ns: int
) -> int:
    """Zeros, which need no kernel; when the host goes on."""
    device = stream.owner
    after = device.launched(host_ns)
    span = device.run(stream, after, memset_ns(nbytes, device.spec))
    if activity.logs:
        correlation = next(correlations)
        log_call("cudaMemsetAsync", host_ns, after, correlation)
        writes = tuple([s.number for s in written if s is not None])
        log_work("gpu_memset", "Memset (Device)", span, stream, correlation, nbytes, writes=writes)
    return after


def _taken_over(tensor: Any, device: ModelledDevice, stream: Stream) -> Storage | None:
    """The storage of an operand; None of a number, which is given to kernels as it is."""
    array = tensor.array
    found = storages.get(id(owner_of(array)))
    if found is not None or array.ndim == 0 or tensor.is_sparse:
        return found
    return place(tensor, device, stream)


def _itself(tensor: Any) -> Any:
    return tensor


def _tensors(values: Iterable[Any]) -> Iterator[Any]:
    for x in values:
        if isinstance(x, Tensor):
            yield x
        elif x.__class__ is list or isinstance(x, tuple):
            yield from _tensors(x)


def _common_device(name: str, tensors: Iterable[Any]) -> int | None:
    """Where the operands are; None on the CPU.

    Raises:
        RuntimeError: not all on one device.
    """
    found, host = None, False
    for x in tensors:
        storage = storages.get(id(owner_of(x.array)))
        if storage is None:
            host = host or x.array.ndim > 0
        elif found is None:
            found = storage.device
        elif found != storage.device:
            raise RuntimeError(_apart(name, f"cuda:{found}", f"cuda:{storage.device}"))
    if found is not None and host and depth.inside == 0 and name not in _TAKES_HOST_OPERANDS:
        raise RuntimeError(_apart(name, f"cuda:{found}", "cpu"))
    return found


_TAKES_HOST_OPERANDS = {"aten::index", "aten::index_put_", "aten::index_put"}


def _apart(name: str, one: str, other: str) -> str:
    return (
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{one} and {other}! (when checking the arguments of {name})"
    )


def _without_device(args: Args, kwargs: Kwargs) -> tuple[int | None, Args, Kwargs]:
    """The number of the device that is asked for (None for the CPU), and the other arguments.

    They end in dtype, device, requires_grad, generator, pin_memory; see call_source.py.
    """
    if "device" in kwargs:
        device = kwargs["device"]
        kwargs = {**kwargs, "device": None}
    else:
        device = args[-4]
        args = (*args[:-4], None, *args[-3:])
    if device is None or Device(device).type == "cpu":
        return None, args, kwargs
    return device_index(device), args, kwargs


def _note_streams(out: Any) -> None:
    """Tell new nodes which stream they were made on: backward runs them there."""
    for x in _tensors((out,)):
        node = x._node
        if node is None:
            continue
        storage = storages.get(id(owner_of(x.array)))
        if storage is None:
            continue
        if node.stream is None:
            node.stream = current_stream(storage.device)
        if x._view is not None and (above := x._view.base._node) is not None:
            if above.stream is None:
                above.stream = current_stream(storage.device)


def _operand(tensor: Any) -> Operand:
    array = tensor.array
    return Operand(array.shape, array.dtype.name, bool(array.flags.forc))


dispatcher = Dispatcher()
