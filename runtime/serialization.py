"""save and load: a zip of `.npy` arrays, and a pickle that says where in them each tensor lies.

A view saves all of its memory; tensors that share memory share it again, and a tensor or an array
saved twice is one again. Tensors of a script's own classes come back as Tensors. With
`weights_only`, `load` reads tensors, arrays, numbers, texts, containers, sizes, dtypes and devices;
and of other classes those that `safe_globals` allows, as PyTorch does.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from .accelerator import is_available
from .core import dtypes
from .core.device import Device
from .engine.hooks import check
from .engine.tensor import Tensor, wrap
from .nn.parameter import Parameter

_UNTRUSTED = "Weights only load failed: the file holds objects of other classes. "
_UNTRUSTED += "If you trust its source, load it with weights_only=False."
_ELSEWHERE = "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
_ELSEWHERE += "False. Please use torch.load with map_location=torch.device('cpu')."
_BFLOAT16 = "bfloat16"  # numpy's files do not tell it from other bytes: they hold uint16
_allowed: list[Any] = []  # classes that may be read with `weights_only`, too
# What may always be read, and what modules of allowed classes are made of.
_PARTS = {f"collections.{name}" for name in ("OrderedDict", "Counter")}
_PARTS |= {f"builtins.{name}" for name in ("complex", "set", "dict")}
_PARTS |= {"numpy.dtype", "ml_dtypes.bfloat16"}
_PARTS |= {f"numpy.{core}.multiarray.scalar" for core in ("_core", "core")}
_PARTS |= {f"{__package__}.{name}" for name in ("core.device.Device", "engine.tensor.Size")}


def _told(dtype: Any) -> str:
    return _BFLOAT16 if dtype.name == _BFLOAT16 else str(dtype.str)


def _is_opaque(dtype: Any) -> bool:
    return dtype.kind in "OV" and dtype.name != _BFLOAT16


class _Pickler(pickle.Pickler):
    """Writes all but the memory of tensors and arrays, which it puts into `files`."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, 4)
        self.files: dict[int, tuple[int, Any]] = {}  # a number and an array, by its identity
        self.seen: dict[int, tuple[Any, Any]] = {}  # what was returned, and for what

    def persistent_id(self, x: Any) -> Any:
        """Return the kind of a tensor or an array, and where in the memory its elements are."""
        if not (isinstance(x, Tensor) or type(x) is np.ndarray) or _is_opaque(x.dtype):
            return None  # such as a masked array, which has more than its elements
        if id(x) not in self.seen:
            self.seen[id(x)] = (*self._place(x), len(self.seen)), x
        return self.seen[id(x)][0]

    def _place(self, x: Any) -> tuple[Any, ...]:
        tensor = x if isinstance(x, Tensor) else None
        array: Any = x if tensor is None else tensor.array
        root = array
        while tensor is not None and isinstance(root.base, np.ndarray):
            root = root.base
        if not root.flags.forc or _is_opaque(root.dtype):
            array = root = np.array(array, order="C")
        if tensor is not None and tensor.is_cuda and id(root) not in self.files:
            tensor.detach().cpu()  # the host waits for it, and copies
        number, _ = self.files.setdefault(id(root), (len(self.files), root))
        offset = array.ctypes.data - root.ctypes.data if array.size else 0
        where = number, array.shape, _told(array.dtype), offset, array.strides
        if tensor is None:
            return "array", "cpu", False, *where
        kind = "Parameter" if isinstance(tensor, Parameter) else "Tensor"
        return kind, str(tensor.device), tensor.requires_grad, *where


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` wrote, with tensors on the device that `map_location` says."""

    def __init__(self, content: bytes, files: list[Any], map_location: Any, trusted: bool) -> None:
        super().__init__(BytesIO(content))
        self.files, self.map_location, self.trusted = files, map_location, trusted
        self.made = dict[Any, Any]()
        self.moved = dict[tuple[int, str], Tensor]()  # memory on devices

    def find_class(self, module: str, name: str) -> Any:
        """Return the class, or function, of that name; UnpicklingError if it is not allowed."""
        for each in () if self.trusted else _allowed:
            known, path = each if isinstance(each, tuple) else (each, None)
            if (path or f"{known.__module__}.{known.__qualname__}") == f"{module}.{name}":
                return known
        if self.trusted or f"{module}.{name}" in _PARTS:
            return super().find_class(module, name)
        told = f"Or allow {module}.{name} with torch.serialization.safe_globals."
        raise pickle.UnpicklingError(f"{_UNTRUSTED} {told}")

    def persistent_load(self, pid: Any) -> Any:
        """Return the tensor or array that was saved, the same one each time."""
        if pid not in self.made:
            kind, device, grad, number, shape, told, offset, strides, *_ = pid
            where = "cpu" if kind == "array" else self._where(self.files[number], device)
            memory = self.files[number] if where == "cpu" else self._on_device(number, where)
            dtype = dtypes.numpy_dtype(dtypes.bfloat16 if told == _BFLOAT16 else np.dtype(told))
            found: Any = np.ndarray(shape, dtype, memory, offset, strides)
            if kind != "array":
                found = wrap(found).requires_grad_(grad)
            self.made[pid] = Parameter(found, grad) if kind == "Parameter" else found
        return self.made[pid]

    def _where(self, memory: Any, saved: str) -> str:
        """The device for what was on the device `saved`."""
        wanted = self.map_location
        if isinstance(wanted, dict):
            wanted = wanted.get(saved)
        elif callable(wanted):
            storage = wanted(wrap(memory), saved)
            wanted = None if storage is None else storage.device
        return saved if wanted is None else str(Device(wanted))

    def _on_device(self, number: int, where: str) -> Any:
        check(is_available() or not where.startswith("cuda"), _ELSEWHERE)
        if (number, where) not in self.moved:
            self.moved[number, where] = wrap(self.files[number]).to(where)
        return self.moved[number, where].array


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let `load` read objects of these classes with `weights_only`, too."""
    _allowed.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """Return what was allowed."""
    return [*_allowed]


def clear_safe_globals() -> None:
    """Allow nothing any more."""
    _allowed.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """`add_safe_globals`, inside the block."""
    before = get_safe_globals()
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _allowed[:] = before


def _write(obj: Any, file: Any) -> None:
    from zipfile import ZipFile

    pickler = _Pickler(content := BytesIO())
    pickler.dump(obj)
    with ZipFile(file, "w") as archive:
        archive.writestr("structure.pkl", content.getvalue())
        for number, root in pickler.files.values():
            with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                flat = root.reshape(-1, order="A")
                flat = flat.view(np.uint16) if _told(flat.dtype) == _BFLOAT16 else flat
                np.lib.format.write_array(member, flat, allow_pickle=False)


def save(obj: Any, f: Any, **_: Any) -> None:
    """Write to a binary file, or to a path, where the old file stays until all is written."""
    if not isinstance(f, (str, os.PathLike)):
        return _write(obj, f)
    path = Path(f).resolve()
    if path.exists() and not path.is_file():  # /dev/null, which does not know where it is
        _write(obj, content := BytesIO())
        path.write_bytes(content.getvalue())
        return None
    scratch = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with scratch.open("wb") as file:
            _write(obj, file)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def load(f: Any, map_location: Any = None, weights_only: bool = True, **_: Any) -> Any:
    """Return what `save` wrote to a path or binary file, on its device or on `map_location`.

    Raises:
        RuntimeError: `save` did not write it, it is damaged, or its device is not here.
        UnpicklingError: there is an object of a class that is not allowed, and `weights_only`.
        ImportError, AttributeError: the class of an object in it is not where it was.
    """
    from zipfile import ZipFile

    if isinstance(f, (str, os.PathLike)):
        with Path(f).open("rb") as file:
            return load(file, map_location, weights_only)
    f.seek(0)
    trusted, is_whole = weights_only is not None and not weights_only, False
    start, why = f.read(2), "not a file of save()"
    try:
        if start == b"PK":
            why = "truncated or damaged"
            with ZipFile(f) as archive:
                names = archive.namelist()
                if "structure.json" in names:
                    why = "written by an earlier version of tidy"
                elif not any(name.endswith("data.pkl") for name in names):
                    members = (archive.open(f"{n}.npy") for n in range(len(names) - 1))
                    files = [np.lib.format.read_array(x, allow_pickle=False) for x in members]
                    content, is_whole = archive.read("structure.pkl"), True
                    return _Unpickler(content, files, map_location, trusted).load()
        if "tidy" not in why and (start == b"PK" or start[:1] == b"\x80"):
            why = "written by PyTorch as a pickle, which is not read here"
    except (pickle.UnpicklingError, RuntimeError) as error:
        if str(error).startswith((_UNTRUSTED, _ELSEWHERE)):
            raise
        why += f" ({error})"
    except (ImportError, AttributeError):  # a class of a pickle is not here
        raise
    except Exception as error:  # whatever zipfile, pickle and numpy say of spoilt bytes
        if trusted and is_whole:  # an object of the script's says so
            raise
        why += f" ({type(error).__name__}: {error})"
    raise RuntimeError(f"cannot load {getattr(f, 'name', 'this file')}: {why}")
