"""What kind of operator a name is: whether it launches kernels, copies, or only looks at memory."""

from __future__ import annotations

from enum import Enum, auto


class Kind(Enum):
    COMPUTES = auto()
    VIEW = auto()
    COMPOSITE = auto()  # made of other operators
    FUNCTION = auto()  # of the user's
    COPIES = auto()
    MAKES = auto()  # a tensor of nothing
    READS = auto()  # the host waits for a value


_READS = {"aten::_local_scalar_dense", "aten::nonzero"}
_VIEWS = {"aten::split", "aten::unbind", "aten::detach"}
FILLS = {
    "aten::zeros": "aten::zero_",
    "aten::ones": "aten::fill_",
    "aten::full": "aten::fill_",
    "aten::rand": "aten::uniform_",
    "aten::randn": "aten::normal_",
    "aten::randint": "aten::random_",
    "aten::normal": "aten::normal_",
}
_MADE = {*FILLS, *(f"aten::{n}" for n in "empty eye arange linspace randperm".split())}
_COPIES = {"aten::copy_"}
_COMPUTE = {"aten::random_", "aten::gelu_backward"}
_COMPUTE |= {"aten::_amp_foreach_non_finite_check_and_unscale_"}
_COMPUTE |= {f"aten::native_{kind}_norm_backward" for kind in ("layer", "batch", "group")}


def kind_of(name: str) -> Kind:
    """The kind of an operator, by its ATen name."""
    for kind, names in (
        (Kind.READS, _READS),
        (Kind.VIEW, _VIEWS),
        (Kind.COPIES, _COPIES),
        (Kind.MAKES, _MADE),
        (Kind.COMPUTES, _COMPUTE),
    ):
        if name in names:
            return kind
    if not name.startswith("aten::"):
        return Kind.FUNCTION
    if name.startswith(("aten::_foreach_", "aten::_fused_")):
        return Kind.COMPUTES
    flags = _flags()
    if name in flags:
        return Kind.VIEW if "view" in flags[name] else Kind.COMPUTES
    return Kind.COMPOSITE


def _flags() -> dict[str, frozenset[str]]:
    """Flags of the operators that compute, by name."""
    from ..ops.table import TABLE

    return {op.name: op.flags for op in TABLE.values() if not op.parse().is_composite}
