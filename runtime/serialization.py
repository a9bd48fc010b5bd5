"""save and load: a zip of `.npy` arrays and `structure.json`; a pickle of whole modules alone.

Dicts, OrderedDicts, Counters, lists, tuples, Sizes, numbers, strings, None, dtypes, arrays and
tensors come back equal (numpy's numbers as Python's, a Parameter as a tensor). A view saves all of
its memory; what shares memory shares it again, and a tensor saved twice is one tensor again. A
module, path or Namespace is a pickle inside, which `load` reads with `weights_only=False`, or if
`safe_globals` allows its classes, as PyTorch does; its tensors are kept beside it as all others.
"""

from __future__ import annotations

import os
import pickle
from argparse import Namespace
from base64 import b64decode, b64encode
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from .accelerator import is_available
from .core import dtypes
from .core.device import Device
from .engine.hooks import check
from .engine.tensor import Size, Tensor, wrap

_UNTRUSTED = "Weights only load failed: the file holds a pickle (a module, say). "
_UNTRUSTED += "If you trust its source, load it with weights_only=False."
_ELSEWHERE = "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
_ELSEWHERE += "False. Please use torch.load with map_location=torch.device('cpu')."
_KINDS: Any = {c.__name__: c for c in (list, tuple, Size, dict, OrderedDict, Counter)}


_BFLOAT16 = "bfloat16"  # numpy's files do not tell it from other bytes: they hold uint16


def _told(dtype: Any) -> str:
    return _BFLOAT16 if dtype.name == _BFLOAT16 else str(dtype.str)


def _is_opaque(dtype: Any) -> bool:
    return dtype.kind in "OV" and dtype.name != _BFLOAT16


def _dtype(told: str) -> Any:
    return dtypes.numpy_dtype(dtypes.bfloat16) if told == _BFLOAT16 else np.dtype(told)


def _encode(x: Any, place: str, files: dict[int, Any]) -> Any:
    """`x` as JSON, where what JSON lacks is `{kind: content}`; the memory of arrays in `files`."""
    x = x.item() if isinstance(x, np.generic) and not x.dtype.hasobject else x
    kind, name = type(x), type(x).__name__
    if x is None or kind in {bool, int, float, str}:
        return x
    if _KINDS.get(name) is kind and isinstance(x, dict):
        keys = [_encode(key, f"{place}, key {key!r}", files) for key in x]
        values = [_encode(x[key], f"{place}[{key!r}]", files) for key in x]
        return {name: list(zip(keys, values, strict=True))}
    if _KINDS.get(name) is kind:
        return {name: [_encode(value, f"{place}[{n}]", files) for n, value in enumerate(x)]}
    if kind is complex or isinstance(x, np.dtype):
        return {"complex": [x.real, x.imag]} if kind is complex else {"dtype": _told(x)}
    if hasattr(x, "_save_to_state_dict") or isinstance(x, (Namespace, PurePath)):
        content = BytesIO()
        _Pickler(content, files).dump(x)
        return {"pickle": b64encode(content.getvalue()).decode()}
    if not isinstance(x, (Tensor, np.ndarray)) or _is_opaque(x.dtype):
        raise TypeError(f"cannot save an object of class {name}, at {place or 'the top'}")
    return {"array": _memory_of(x, files)}


def _memory_of(x: Any, files: dict[int, Any]) -> list[Any]:
    """Where in the memory of `files` a tensor's or an array's elements are, with that memory."""
    array = root = x.array if isinstance(x, Tensor) else x
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not root.flags.forc or _is_opaque(root.dtype):
        array = root = np.ascontiguousarray(array)
    if isinstance(x, Tensor) and x.is_cuda and id(root) not in files:
        x.detach().cpu()  # the host waits for it, and copies
    number, _ = files.setdefault(id(root), (len(files), root))
    offset = array.ctypes.data - root.ctypes.data if array.size else 0
    grad = x.requires_grad if isinstance(x, Tensor) else None  # None: an array
    where = [str(x.device)] if isinstance(x, Tensor) and x.is_cuda else []
    return [number, array.shape, _told(array.dtype), offset, array.strides, grad, *where]


class _Pickler(pickle.Pickler):
    """Writes a module, path or Namespace, with the memory of its tensors in `files`."""

    def __init__(self, file: Any, files: dict[int, Any]) -> None:
        super().__init__(file)
        self.files = files

    def persistent_id(self, obj: Any) -> Any:
        """Return class and place of a tensor, with which `_Unpickler` finds it again."""
        import json

        from .nn.parameter import Parameter

        if type(obj) not in (Tensor, Parameter) or _is_opaque(obj.dtype):
            return None
        return type(obj).__name__, json.dumps(_memory_of(obj, self.files))


class _Reader:
    """Makes what `_encode` told of, with tensors on the device that `map_location` says."""

    def __init__(self, files: list[Any], map_location: Any, trusted: bool) -> None:
        self.files, self.map_location, self.trusted = files, map_location, trusted
        self.made = dict[tuple[str, str], Any]()
        self.moved = dict[tuple[int, str], Tensor]()  # memory on devices

    def decode(self, node: Any) -> Any:
        """Return what a node of the tree stands for."""
        if isinstance(node, list):
            return [self.decode(x) for x in node]
        if not isinstance(node, dict):
            return node
        ((kind, content),) = node.items()
        if kind in _KINDS:
            items = self.decode(content)
            return _KINDS[kind](dict(items) if issubclass(_KINDS[kind], dict) else items)
        if kind == "pickle":  # with `trusted` the caller said that it may be read
            return (_Unpickler if self.trusted else _OfAllowed)(b64decode(content), self).load()
        if kind == "array":
            return self.tensor("Tensor", content)
        return complex(*content) if kind == "complex" else _dtype(content)

    def tensor(self, kind: str, content: list[Any]) -> Any:
        """Return the tensor, Parameter or array of this place, the same one each time."""
        key = kind, str(content)
        if key not in self.made:
            number, shape, dtype, offset, strides, grad, *device = content
            where = "cpu" if grad is None else self._where(self.files[number], *device)
            memory = self.files[number] if where == "cpu" else self._on_device(number, where)
            array = np.ndarray(shape, _dtype(dtype), memory, offset, strides)
            found = array if grad is None else wrap(array).requires_grad_(grad)
            if kind == "Parameter":
                from .nn.parameter import Parameter

                found = Parameter(found, grad)
            self.made[key] = found
        return self.made[key]

    def _where(self, memory: Any, saved: str = "cpu") -> str:
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


class _Unpickler(pickle.Unpickler):
    """Reads a pickle whose tensors a reader has."""

    def __init__(self, content: bytes, reader: _Reader) -> None:
        super().__init__(BytesIO(content))
        self.reader = reader

    def persistent_load(self, pid: Any) -> Any:
        """Return a tensor that `_Pickler` told of."""
        import json

        kind, content = pid
        return self.reader.tensor(kind, json.loads(content))


_allowed: list[Any] = []  # classes that may be read with `weights_only`, if they are whole modules'
# What modules are made of besides their classes.
_PARTS = {"collections.OrderedDict", "builtins.set", "builtins.dict"}
_PARTS |= {"numpy.ndarray", "numpy.dtype"}
_PARTS |= {"numpy._core.multiarray._reconstruct", "numpy.core.multiarray._reconstruct"}
_PARTS |= {
    f"{__package__}.{name}"
    for name in "core.device.Device engine.tensor.Size engine.tensor.Tensor "
    "nn.parameter.Parameter ops.methods._unpickled".split()
}


class _OfAllowed(_Unpickler):
    """Reads whole modules of the classes that `safe_globals` allows."""

    def find_class(self, module: str, name: str) -> Any:
        for each in _allowed:
            known, path = each if isinstance(each, tuple) else (each, None)
            if (path or f"{known.__module__}.{known.__qualname__}") == f"{module}.{name}":
                return known
        if f"{module}.{name}" in _PARTS:
            return super().find_class(module, name)
        told = f"Or allow {module}.{name} with torch.serialization.safe_globals."
        raise pickle.UnpicklingError(f"{_UNTRUSTED} {told}")


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let `load` read whole modules of these classes with `weights_only`, too."""
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
    import json
    from zipfile import ZipFile

    files: dict[int, Any] = {}
    tree = json.dumps(_encode(obj, "", files))
    with ZipFile(file, "w") as archive:
        archive.writestr("structure.json", tree)
        for number, root in files.values():
            with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                flat = root.reshape(-1, order="A")
                flat = flat.view(np.uint16) if _told(flat.dtype) == _BFLOAT16 else flat
                np.lib.format.write_array(member, flat, allow_pickle=False)


def save(obj: Any, f: Any, **_: Any) -> None:
    """Write to a binary file, or to a path, where the old file stays until all is written.

    Raises:
        TypeError: naming the place of what cannot be saved.
    """
    if not isinstance(f, (str, os.PathLike)):
        return _write(obj, f)
    path = Path(f).resolve()
    if path.exists() and not path.is_file():  # /dev/null
        with path.open("wb") as device:
            return _write(obj, device)
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
        UnpicklingError: there is a module in it, and `weights_only`.
        ImportError, AttributeError: the class of a module in it is not where it was.
    """
    import json
    from zipfile import ZipFile

    if isinstance(f, (str, os.PathLike)):
        with Path(f).open("rb") as file:
            return load(file, map_location, weights_only)
    f.seek(0)
    start, why = f.read(2), "not a file of save()"
    try:
        if start == b"PK":
            why = "truncated or damaged"
            with ZipFile(f) as archive:
                names = archive.namelist()
                if not any(name.endswith("data.pkl") for name in names):
                    members = (archive.open(f"{n}.npy") for n in range(len(names) - 1))
                    files = [np.lib.format.read_array(x, allow_pickle=False) for x in members]
                    tree = json.loads(archive.read("structure.json"))
                    return _Reader(files, map_location, not weights_only).decode(tree)
        if start == b"PK" or start[:1] == b"\x80":
            why = "written by PyTorch as a pickle, which is not read here"
    except (pickle.UnpicklingError, RuntimeError) as error:
        if str(error).startswith((_UNTRUSTED, _ELSEWHERE)):
            raise
        why += f" ({error})"
    except (ImportError, AttributeError):  # a class of a pickle is not here
        raise
    except Exception as error:  # whatever zipfile, json and numpy say of spoilt bytes
        why += f" ({type(error).__name__}: {error})"
    raise RuntimeError(f"cannot load {getattr(f, 'name', 'this file')}: {why}")
