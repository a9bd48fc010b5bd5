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

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import backends
from ..device import Device
from ..record_function import active
from ..storage import storages
from ..tensor import Tensor
from . import clock, transfer
from .cost import KernelPlan, Operand, plan
from .kinds import FILLS, Kind, kind_of
from .launch import launch_kernel, memset_plan
from .operands import NONE, Operands, note_streams, tensors_in
from .placement import device_of, place
from .state import current_stream, depth, device_index
from .streams import Stream, refuse_in_capture

if TYPE_CHECKING:
    from ..storage import Storage
    from .specs import DeviceSpec

_matmul, _cudnn = backends.cuda.matmul, backends.cudnn
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Dispatcher:
    """The interposer (see record_function.py) that stands nearest to the operators."""

    def __init__(self) -> None:
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
            Operands(name, args, kwargs)
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
        note_streams(tensors_in((out,)))
        return out

    def _view(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        out = inner(*args, **kwargs)
        if out.__class__ is not Tensor or out._node is not None:
            note_streams(tensors_in((out,)))
        return out

    def _compute(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        if not storages:
            return inner(*args, **kwargs)
        operands = Operands(name, args, kwargs)
        index = operands.device
        if index is None:
            return inner(*args, **kwargs)
        stream = current_stream(index)
        clock.open_stretch()
        cost = 0
        try:
            if operands.host:
                operands.take_over(stream)
            if stream.capture is not None and name.endswith("_"):
                stream.capture.keep(operands.arrays)
            out = inner(*args, **kwargs)
            if out.__class__ is Tensor:
                node = out._node
                if node is not None and node.stream is None:
                    node.stream = stream
                outs = (out,)
            else:
                outs = tuple(tensors_in((out,)))
            cost = self.launch(name, operands, outs, stream)
        finally:
            clock.close_stretch(cost)
        if stream.capture is not None:
            stream.capture.add(inner, args, kwargs, outs)
        if out.__class__ is not Tensor or out._view is not None:
            note_streams(outs)  # in place, the base's node too
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
                place(out, stream)
                if name not in FILLS and name != "aten::empty":
                    cost = self.launch(name, NONE, (out,), stream)
            finally:
                clock.close_stretch(cost)
            if stream.capture is not None:
                stream.capture.add(inner, args, kwargs, (out,))
        if name in FILLS:
            active[0].op(FILLS[name], _itself, (out,))
        return out

    def _copy(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        source = args[1] if len(args) > 1 and storages else None
        if not isinstance(source, Tensor) or device_of(args[0]) == device_of(source):
            return self._compute(name, inner, args, kwargs)
        blocking = not (args[2] if len(args) > 2 else kwargs.get("non_blocking"))
        out = transfer.between(inner, args, kwargs, blocking)
        note_streams((out,))
        return out

    def _read(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        """A value, or a shape that depends on values: the host waits for it."""
        index = device_of(args[0]) if storages else None
        if index is None:
            return inner(*args, **kwargs)
        stream = current_stream(index)
        refuse_in_capture(stream, name)
        clock.open_stretch()
        cost = 0
        try:
            out = inner(*args, **kwargs)
            outs = tuple(tensors_in((out,)))
            if outs:  # _local_scalar_dense has none: it only copies
                cost = self.launch(name, Operands(name, args, kwargs), outs, stream)
        finally:
            clock.close_stretch(cost)
        transfer.read_back(args[0], stream)
        return out

    # -- launching ------------------------------------------------------------------------------

    def launch(self, name: str, operands: Operands, outs: tuple[Any, ...], stream: Stream) -> int:
        """Put the kernels of an operator on a stream; gives what that takes the host."""
        device = stream.owner
        key: list[Any] = [name, _matmul.allow_tf32, _cudnn.allow_tf32]
        for a in operands.arrays:
            key += (a.shape, a.strides, a.dtype.num)
        key.append(None)
        for x in outs:
            a = x.array
            key += (a.shape, a.dtype.num)
        kernels = device.kernels.get(tuple(key))
        if kernels is None:
            kernels = device.kernels[tuple(key)] = _kernels(name, operands, outs, device.spec)
        written: tuple[Storage, ...]
        if len(outs) == 1:
            written = (place(outs[0], stream),)
        else:
            written = tuple([place(x, stream) for x in outs])
        if stream.capture is not None:
            stream.capture.plans += kernels
            return 0
        start = host = clock.now_ns()
        for kernel in kernels:
            host = launch_kernel(kernel, operands.storages, written, stream, host)
        return host - start


def _kernels(
    name: str, operands: Operands, outs: tuple[Any, ...], spec: DeviceSpec
) -> tuple[KernelPlan, ...]:
    if name == "aten::zero_":
        return (memset_plan(outs[0].array.nbytes, spec),)
    return plan(
        name,
        [_operand(array) for array in operands.arrays],
        [_operand(x.array) for x in outs],
        spec,
        matmul_tf32=_matmul.allow_tf32,
        cudnn_tf32=_cudnn.allow_tf32,
    )


def _itself(tensor: Any) -> Any:
    return tensor


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


def _operand(array: Any) -> Operand:
    return Operand(array.shape, array.dtype.name, bool(array.flags.forc))


dispatcher = Dispatcher()
