"""torch.device: `cpu`, `cuda`, `cuda:1`."""

from __future__ import annotations

from typing import Any

_TYPES = ("cpu", "cuda", "meta", "mps", "xpu", "hpu", "mtia", "privateuseone")


class Device(str):
    """A device by its name, as `cuda:1`, or by the number of a CUDA device."""

    __slots__ = ()

    def __new__(cls, name: Any = "cpu", index: int | None = None) -> Device:
        if name.__class__ is Device and index is None:
            return name
        if isinstance(name, int):
            name = f"cuda:{name}"
        kind, colon, number = str(name).partition(":")
        if kind not in _TYPES or (colon and (not number.isdigit() or index is not None)):
            raise RuntimeError(
                f"Invalid device string: {str(name)!r}; expected one of {', '.join(_TYPES[:2])},"
                " with a number behind it or without"
            )
        return super().__new__(cls, str(name) if index is None else f"{name}:{index}")

    @property
    def type(self) -> str:
        """`cpu` or `cuda`."""
        return str(self).partition(":")[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]  # PyTorch's name
        """Its number, if it has one."""
        return int(self.partition(":")[2]) if ":" in self else None

    def __repr__(self) -> str:
        number = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{number})"

    def __enter__(self) -> Device:
        raise NotImplementedError("a device as a default for new tensors is not supported")

    def __exit__(self, *exc: object) -> None:
        """Nothing was entered."""


CPU = Device("cpu")
