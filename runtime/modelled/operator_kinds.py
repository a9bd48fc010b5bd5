"""What kind of operator a name is: whether it launches kernels, copies, or only looks at memory."""

from __future__ import annotations

from enum import Enum

from ..ops.make import TABLE


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
