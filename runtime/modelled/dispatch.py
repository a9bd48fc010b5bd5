"""Every operator, seen by the modelled device: numpy runs it, and the model says what it costs.

    aten::addmm(bias, x, w)        on cuda:0, stream 7
      numpy computes               its time is taken out of the host's (clock.py)
      cudaLaunchKernel             the host's time, one for each kernel (kernel_launch.py)
        => ampere_sgemm_...        the stream's time, by the operands' shapes (cost/)

An operator is one of a few kinds: it computes, copies, makes a new tensor,
reads a value for the host, only looks at memory (a view), or is made of other operators. Operands
on two devices are an error, except for numbers (tensors without dimensions) on the CPU. A tensor
that a formula makes inside another operator, or in backward, counts as made on the device.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from .. import backends
from ..core.device import Device
from ..core.storage import storages
from ..engine.grad_mode import is_grad_enabled
from ..engine.tensor import Tensor
from ..observe.arrangement import Interposer, show_calls
from ..ops.make import TABLE
from . import transfer
from .clock import now_ns, stretch
from .cost import KernelPlan, Operand, plan
from .kernel_launch import launch_kernel, memset_plan
from .operands import NONE, Operands, nesting, note_streams, tensors_in
from .placement import device_number_of, place
from .specs import DeviceSpec
from .streams import Stream, current_stream, device_index

_matmul, _cudnn = backends.cuda.matmul, backends.cudnn
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class OperatorKind(Enum):
    """Kinds by the names of the dispatcher's methods that take them."""

    COMPUTES = "compute"
    VIEW = "view"
    COMPOSITE = "composite"  # made of other operators
    FUNCTION = "function"  # a Function of the user's
    COPIES = "copy"
    MAKES = "make"  # a tensor from no other tensor
    READS = "read"  # the host waits for a value
    FILLS = "fill"  # all elements with one number


FILLS = {
    "aten::zeros": "aten::zero_",
    "aten::ones": "aten::fill_",
    "aten::full": "aten::fill_",
    "aten::rand": "aten::uniform_",
    "aten::randn": "aten::normal_",
    "aten::randint": "aten::random_",
    "aten::normal": "aten::normal_",
}
# Names of those that no row of the table tells the kind of.
_NAMED = {
    OperatorKind.READS: "_local_scalar_dense nonzero _unique2 unique_dim",
    OperatorKind.VIEW: "split unbind detach",
    OperatorKind.COPIES: "copy_",
    OperatorKind.MAKES: "empty eye arange linspace logspace randperm tril_indices triu_indices "
    "fft_fftfreq fft_rfftfreq",
    OperatorKind.FILLS: "fill_",
    OperatorKind.COMPUTES: "random_ _amp_foreach_non_finite_check_and_unscale_ "
    "gelu gelu_backward silu_backward native_layer_norm native_batch_norm native_group_norm "
    "native_layer_norm_backward native_batch_norm_backward native_group_norm_backward",
}
_KINDS = {f"aten::{name}": kind for kind, names in _NAMED.items() for name in names.split()}
_KINDS |= dict.fromkeys(FILLS, OperatorKind.MAKES)


def kind_of(name: str) -> OperatorKind:
    """Return the kind of an operator, by its ATen name."""
    if name in _KINDS:
        return _KINDS[name]
    if not name.startswith("aten::"):
        return OperatorKind.FUNCTION
    if name.startswith(("aten::_foreach_", "aten::_fused_")):
        return OperatorKind.COMPUTES
    flags = {op.name: op.flags for op in TABLE.values() if not op.parse().is_composite}
    if name in flags:
        return OperatorKind.VIEW if "view" in flags[name] else OperatorKind.COMPUTES
    return OperatorKind.COMPOSITE


class Dispatcher(Interposer):
    """The interposer (see observe/arrangement.py) that stands nearest to the operators."""

    def __init__(self) -> None:
        self._by_name: dict[str, Callable[..., Any]] = {}

    def op(self, name: str, inner: Callable[..., Any], args: Args, kwargs: Any = None) -> Any:
        handler = self._by_name.get(name)
        if handler is None:
            handler = self._by_name[name] = getattr(self, f"_{kind_of(name).value}")
        return handler(name, inner, args, kwargs or {})

    # -- kinds of operators ---------------------------------------------------------------------

    def _composite(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        if nesting.depth == 0 and storages and name != "aten::to":
            Operands(name, args, kwargs)
        nesting.depth += 1
        try:
            return inner(*args, **kwargs)
        finally:
            nesting.depth -= 1

    def _function(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        """A Function of the user's, whose operators are the user's too."""
        before, nesting.depth = nesting.depth, 0
        try:
            out = inner(*args, **kwargs)
        finally:
            nesting.depth = before
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
        with stretch:
            if operands.host:
                operands.take_over(stream)
            out = inner(*args, **kwargs)
            if out.__class__ is Tensor:
                node = out._node
                if node is not None and node.stream is None:
                    node.stream = stream
                outs = (out,)
            else:
                outs = tuple(tensors_in((out,)))
            _launch(name, operands, outs, stream)
        if out.__class__ is not Tensor or out._view is not None:
            note_streams(outs)  # in place, the base's node too
        return out

    def _make(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        """Makes a new tensor; as in PyTorch, an operator of its own fills it where it is filled."""
        device, args, kwargs = _without_device(args, kwargs)
        if device is None:
            out = inner(*args, **kwargs)
        else:
            stream = current_stream(device)
            with stretch:
                out = inner(*args, **kwargs)
                place(out, stream)
                if name not in FILLS and name != "aten::empty":
                    _launch(name, NONE, (out,), stream)
        if name in FILLS:
            show_calls(out, FILLS[name])
        return out

    def _copy(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        source = args[1] if len(args) > 1 and storages else None
        if not isinstance(source, Tensor) or device_number_of(args[0]) == device_number_of(source):
            return self._compute(name, inner, args, kwargs)
        blocking = not (args[2] if len(args) > 2 else kwargs.get("non_blocking"))
        out = transfer.between(inner, args, kwargs, blocking)
        note_streams((out,))
        return out

    def _fill(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        """The host reads a number that is on another device, as PyTorch has it."""
        value: Any = args[1] if len(args) > 1 and storages else None
        index = device_number_of(value)
        if index not in (None, device_number_of(args[0])) and not value.array.ndim:
            learns = value._rg and is_grad_enabled()
            args = (args[0], value.to("cpu") if learns else value.item())
        return self._compute(name, inner, args, kwargs)

    def _read(self, name: str, inner: Any, args: Args, kwargs: Kwargs) -> Any:
        """A value, or a shape that depends on values: the host waits for it."""
        index = device_number_of(args[0]) if storages else None
        if index is None:
            return inner(*args, **kwargs)
        stream = current_stream(index)
        with stretch:
            out = inner(*args, **kwargs)
            outs = tuple(tensors_in((out,)))
            if outs:  # _local_scalar_dense has none: it only copies
                _launch(name, Operands(name, args, kwargs), outs, stream)
        transfer.read_back(args[0], stream)
        return out


def _launch(name: str, operands: Operands, outs: tuple[Any, ...], stream: Stream) -> None:
    """Put the kernels of an operator on a stream; the open stretch costs what the launches do."""
    device = stream.owner
    key: list[Any] = [name, _matmul.allow_tf32, _cudnn.allow_tf32]
    for a in operands.arrays:
        key += (a.shape, a.strides, a.dtype.num)
    key.append(None)
    for x in outs:
        a = x.array
        key += (a.shape, a.dtype.num)
    kernels = device.kernels.get(known := tuple(key))
    if kernels is None:
        kernels = device.kernels[known] = _kernels(name, operands, outs, device.spec)
    written = [place(x, stream) for x in outs]
    start = host = now_ns()
    for kernel in kernels:
        host = launch_kernel(kernel, operands.storages, written, stream, host)
    stretch.cost_ns = host - start


def _kernels(
    name: str, operands: Operands, outs: tuple[Any, ...], spec: DeviceSpec
) -> tuple[KernelPlan, ...]:
    if name == "aten::zero_":
        return (memset_plan(outs[0].array.nbytes, spec),)
    tf32 = {"matmul_tf32": _matmul.allow_tf32, "cudnn_tf32": _cudnn.allow_tf32}
    inputs, outputs = map(_operand, operands.arrays), (_operand(x.array) for x in outs)
    return plan(name, [*inputs], [*outputs], spec, **tf32)


def _operand(array: Any) -> Operand:
    return Operand(array.shape, array.dtype.name, bool(array.flags.forc))


def _without_device(args: Args, kwargs: Kwargs) -> tuple[int | None, Args, Kwargs]:
    """The number of the device that is asked for (None for the CPU), and the other arguments.

    They end in dtype, device, requires_grad, generator, pin_memory; see function_source.py.
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


dispatcher = Dispatcher()
