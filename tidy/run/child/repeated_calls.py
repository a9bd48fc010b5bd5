"""Calls of modules that the script makes twice on the same inputs, between steps of optimizers.

Shapes cannot tell: many runs put other inputs of one shape through one network. What is known here
is which tensors a call got, and that they and the module are still as they were. Of calls in a call
only the outermost one counts. Where the same happens again in later steps it is looked at more
closely: parameters, buffers, what else the module holds, and what the inputs hold.

Calls before and after a step are noted, too: the second has other parameters then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from .kept import os, thread, weakref

_MOST_CALLS = 64  # that are remembered between two steps
_MOST_PAIRS = 50
_MOST_PROOFS = 8  # of one pair; a close look takes longer than a call is to take
_MOST_NBYTES = 4 << 20  # of an input whose bytes are compared
_PARAMETER_NBYTES = 64  # the first of each parameter: an update changes all of them
_MOST_FRAMES = 50  # of a stack
_MOST_ITEMS = 200  # of a list that a module holds
_PLAIN = (type(None), bool, int, float, str)
_CONTAINERS = (list, tuple, dict, set, frozenset)
_FIXED = (type, FunctionType, MethodType, BuiltinFunctionType, ModuleType)
# What runs modules on its own account: a checkpoint runs one again, a transform with other values.
_LEFT_ALONE = tuple(
    os.path.join("torch", *each)
    for each in (
        ("utils", "checkpoint.py"), ("utils", "data", ""), ("_functorch", ""), ("_dynamo", ""),
        ("jit", ""), ("fx", ""), ("nn", "parallel", ""),
    )
)  # fmt: skip
_OF_RUNTIME = (os.path.join("runtime", "derivatives", ""), os.path.join("modelled", "parallel", ""))
Place = tuple[str, int, str]  # file, line, function


class _Unknown(Exception):
    """An argument whose value cannot be told from another one's."""


class _Pair:
    """Two places that call a module on the same inputs.

    Attributes:
        last, steps: when that was so last, and how often, counted once between two steps.
        proofs: how often a close look found nothing changed; -1 where it found a change once.
    """

    __slots__ = ("last", "proofs", "steps")

    def __init__(self) -> None:
        self.last, self.steps, self.proofs = -1, 0, 0


class _Call:
    """The first call on some inputs since the last step.

    Attributes:
        alive: the tensors that memory belongs to, as weak references.
        stack: lines of the user's, innermost first.
        state: of the module and its inputs before the call, for a close look.
    """

    __slots__ = ("alive", "has_grad", "stack", "state")

    def __init__(self, alive: list[Any], stack: list[Place], has_grad: bool) -> None:
        self.alive, self.stack, self.has_grad = alive, stack, has_grad
        self.state: list[Any] | None = None

    def is_of(self, alive: list[Any]) -> bool:
        """Tell whether these are the same tensors: an identity may be used again."""
        return all(a() is b() for a, b in zip(self.alive, alive, strict=True))


class RepeatedCalls:
    """Notes pairs of calls; see the module.

    Args:
        user: tells by the name of a file, as in a code object, whether it is the user's.
    """

    def __init__(self, user: Mapping[str, bool]) -> None:
        self._user = user
        self._left_alone: dict[str, bool] = {}
        self._calls: dict[Any, _Call] = {}
        self._before: dict[Any, _Call] = {}  # those before the last step
        self._suspects: dict[int, Any] = {}  # modules, by identity: weak references
        self._pairs: dict[tuple[Any, ...], _Pair] = {}
        self._step = 0
        self._torch: Any = None
        self.is_noted = False

    def begin(self, framework: Any) -> None:
        """Note calls from now on.

        Args:
            framework: the module that has `is_grad_enabled`.
        """
        self._torch, self.is_noted = framework, True
        self._calls.clear()

    def stepped(self) -> None:
        """Note that an optimizer has changed parameters."""
        self._step += 1
        self._before, self._calls = self._calls, {}

    def called(self, frame: FrameType) -> None:
        """Note that a module is called; the frame is that of the framework's `Module.__call__`."""
        try:
            if self._torch is not None:
                stack = self._stack(frame)
                if stack:
                    # A script's own modes and classes would be called for what we ask a tensor.
                    c = getattr(self._torch, "_C", None)
                    with getattr(c, "DisableTorchFunction", nullcontext)():
                        self._look(frame.f_locals, stack)
        except Exception:  # it is not known then; the script may be at its limit of recursion
            return

    def noted(self) -> list[list[Any]]:
        """Return for each pair the module's class, the stack of lines of both calls, innermost
        first, whether each recorded gradients, whether a step is between them, how often it was
        seen, and how often looked at closely.
        """
        return [
            [name, [*map(list, first)], [*map(list, again)], *how, pair.steps, pair.proofs]
            for (_, name, first, again, *how), pair in self._pairs.items()
            if pair.proofs >= 0
        ]

    def _stack(self, frame: FrameType) -> list[Place]:
        """The lines of the user's above this call; none if it is in another or left alone."""
        module_call: CodeType = frame.f_code
        user, left_alone = self._user, self._left_alone
        stack = list[Place]()
        above = frame.f_back
        while above is not None:
            code = above.f_code
            if code is module_call:
                return []
            file = code.co_filename
            if user[file]:
                stack.append((file, above.f_lineno or 0, code.co_name))
            else:
                is_left_alone = left_alone.get(file)
                if is_left_alone is None:
                    is_left_alone = left_alone[file] = _is_left_alone(file)
                if is_left_alone:
                    return []
            above = above.f_back
        return stack[:_MOST_FRAMES]

    def _look(self, given: Mapping[str, Any], stack: list[Place]) -> None:
        module, torch = given["self"], self._torch
        alive, key = list[Any](), list[Any]()
        try:
            for each in _flat([given["args"], given["kwargs"]]):
                _identify(each, alive, key)
        except _Unknown:
            return
        if not alive:
            return
        key += [id(module), module.training, thread.get_ident(), self._casts()]
        whole, has_grad = tuple(key), bool(torch.is_grad_enabled())
        first = self._calls.get(whole)
        if first is not None and first.is_of(alive):
            if first.stack != stack:
                self._again(module, first, stack, has_grad, is_after_step=False)
            return
        if len(self._calls) >= _MOST_CALLS:
            self._calls.clear()
        call = self._calls[whole] = _Call(alive, stack, has_grad)
        suspect = self._suspects.get(id(module))
        if suspect is not None and suspect() is module:
            call.state = _state_of(module, alive)
        first = self._before.get(whole)
        if first is not None and first.stack != stack and first.is_of(alive):
            self._again(module, first, stack, has_grad, is_after_step=True)

    def _casts(self) -> tuple[bool, ...]:
        """Tell for what devices autocast is on."""
        enabled = self._torch.is_autocast_enabled
        try:
            return enabled("cpu"), enabled("cuda")
        except TypeError:  # before 2.4
            return enabled(), self._torch.is_autocast_cpu_enabled()

    def _again(
        self, module: Any, first: _Call, stack: list[Place], has_grad: bool, is_after_step: bool
    ) -> None:
        """Note that the same inputs come once more."""
        stacks, grads = (tuple(first.stack), tuple(stack)), (first.has_grad, has_grad)
        key = id(module), type(module).__name__, *stacks, *grads, is_after_step
        if key not in self._pairs and len(self._pairs) >= _MOST_PAIRS:
            return
        pair = self._pairs.setdefault(key, _Pair())
        if pair.proofs < 0:
            return
        pair.steps += pair.last != self._step
        pair.last = self._step
        if is_after_step:
            return
        if first.state is not None:
            is_same = first.state == _state_of(module, first.alive)
            pair.proofs = pair.proofs + 1 if is_same else -1
            if pair.proofs >= _MOST_PROOFS:
                self._suspects.pop(id(module), None)
        elif pair.proofs < _MOST_PROOFS:
            self._suspects[id(module)] = weakref.ref(module)


def _is_left_alone(file: str) -> bool:
    return any(each in file for each in _LEFT_ALONE) or any(each in file for each in _OF_RUNTIME)


def _flat(value: Any, depth: int = 3) -> Iterator[Any]:
    """What containers hold, with their sizes."""
    yield len(value)
    if not depth:
        raise _Unknown
    items = value.items() if type(value) is dict else enumerate(value)
    for name, each in items:
        yield name
        if type(each) in (list, tuple, dict):
            yield from _flat(each, depth - 1)
        else:
            yield each


def _identify(value: Any, alive: list[Any], key: list[Any]) -> None:
    """Add what tells a value from others: of a tensor its memory, its version and its form."""
    kind = type(value)
    if kind in _PLAIN:
        key += kind, value
    elif _is_tensor(value):
        base = value._base
        owner = value if base is None else base
        alive.append(weakref.ref(owner))
        key += id(owner), value._version, value.data_ptr(), value.requires_grad
        if base is not None:
            key += tuple(value.shape), tuple(value.stride()), value.dtype
            alive.append(weakref.ref(value))
    else:
        raise _Unknown


def _is_tensor(value: Any) -> bool:
    """Tell whether it is a tensor, and no subclass of a user's or of a transform."""
    return type(value).__name__ in ("Tensor", "Parameter") and hasattr(value, "_version")


def _state_of(module: Any, inputs: list[Any]) -> list[Any]:
    """Return what must be the same for a module to give the same on these inputs."""
    state = _random_states()
    for each in inputs:
        tensor = each()
        state += id(tensor), tensor._version, _content(tensor, _MOST_NBYTES, whole=True)
    for part in module.modules():
        state += id(part), part.training
        if part.training and _is_random(part):
            state.append(object())  # equal to no other
        for name, value in (*vars(part).items(), *_of_class(type(part))):
            state.append(name)
            _add(value, state)
    return state


def _of_class(kind: type) -> Iterator[tuple[str, Any]]:
    """What the classes of a module hold that are not the framework's."""
    for each in kind.__mro__:
        if each.__module__.startswith(("torch.", "tidy.")) or each is object:
            return
        for name, value in vars(each).items():
            if not name.startswith("__") and not hasattr(type(value), "__get__"):
                yield name, value


def _random_states() -> list[Any]:
    """Return the states of Python's and numpy's generators, which tell whether anybody drew."""
    python, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    states = list[Any]()
    if python is not None:
        states.append(hash(python.getstate()))
    if numpy is not None:
        _, words, at, *_ = numpy.get_state()
        states += hash(words.tobytes()), at
    return states


def _add(value: Any, state: list[Any], depth: int = 2) -> None:
    """Add what tells whether something that a module holds was changed."""
    if type(value) in _PLAIN:
        state.append(value)
    elif _is_tensor(value):
        state += id(value), value._version, value.data_ptr()
        state.append(_content(value, _PARAMETER_NBYTES))
    elif isinstance(value, _CONTAINERS):
        state += id(value), len(value)
        if len(value) > _MOST_ITEMS or (value and not depth):
            state.append(object())
            return
        for each in value.values() if isinstance(value, dict) else value:
            _add(each, state, depth - 1)
    elif type(value) in _FIXED or hasattr(value, "named_modules") or _is_dtype(value):
        state.append(id(value))  # modules below are looked at by themselves
    else:
        # A generator, a configuration: it may have changed, and nobody here knows how to tell.
        state.append(object())


def _is_dtype(value: Any) -> bool:
    return type(value).__module__ == "torch" and type(value).__name__ in ("device", "dtype")


def _is_random(part: Any) -> bool:
    """Tell whether a module that trains drops values at random."""
    kind = type(part).__name__
    if "Dropout" in kind:
        return getattr(part, "p", 1) != 0
    values = vars(part).items()
    drops = any("drop" in k.lower() and isinstance(v, float) and v > 0 for k, v in values)
    return drops or kind == "RReLU"


def _content(tensor: Any, most_nbytes: int, *, whole: bool = False) -> object:
    """Return a checksum of what a tensor holds on the CPU, which may be written to in ways that do
    not count as versions.

    Of a larger one, or one whose memory is not in one piece, it is that of the beginning, or, if
    the `whole` is wanted, nothing, where nobody else has the memory.
    """
    if str(tensor.device) != "cpu" or not tensor.numel():
        return None
    if not _is_held(tensor):
        return object()
    nbytes = tensor.numel() * tensor.element_size()
    if nbytes > most_nbytes or not tensor.is_contiguous():
        if whole:
            return object() if _is_shared(tensor) else None
        nbytes = tensor.element_size()
    import ctypes
    import zlib

    nbytes = min(nbytes, most_nbytes)
    return zlib.crc32((ctypes.c_char * nbytes).from_address(tensor.data_ptr()))


def _is_held(tensor: Any) -> bool:
    """Tell whether there is memory behind a tensor: what is resized to nothing keeps its form."""
    storage = getattr(tensor, "untyped_storage", None)
    if storage is None:  # tidy.runtime's are arrays
        return True
    last = sum((n - 1) * by for n, by in zip(tensor.shape, tensor.stride(), strict=True))
    end = (int(tensor.storage_offset()) + last + 1) * tensor.element_size()
    return bool(tensor.data_ptr()) and int(storage().nbytes()) >= end


def _is_shared(tensor: Any) -> bool:
    """Tell whether an array of numpy or another process may have the memory, too."""
    storage = getattr(tensor, "untyped_storage", None)
    return storage is None or not storage().resizable() or bool(tensor.is_shared())
