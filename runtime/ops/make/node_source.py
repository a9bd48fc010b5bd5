"""The source of an operator's node class: what it has saved, and its formulas.

Words that hold of a row, beside those of its header: `several` (outputs), `many` (inputs that have
gradients), `on_arrays` (its formulas have such forms), `as_one` (observers see its backward as one
operator), `observed` (else, its formulas run in bare forms for them) and `frees` (saved tensors).
"""

from __future__ import annotations

import re

from . import templates
from .rows import Op, names_in
from .table import TABLE
from .templates import Pieces, choose, listed

_NAME_OF_CALL = re.compile(r"(?<![\w.])(\w+)\(")
_OBSERVERS_SEE_ONE = {"gelu", "silu"}
_BOTH = {"conj", "grad", "grads"}  # names that mean the same for tensors and for arrays


def node_source(op: Op) -> str:
    """`class MulBackward0(OpNode): ...`."""
    return _NodeClass(op).fill(templates.NODE)


class _NodeClass(Pieces):
    def __init__(self, op: Op) -> None:
        super().__init__(op)
        self.count, self.on_list = len(op.differentiable), "on_list" in op.flags
        self.texts = [op.formulas[p.name][0] for p in op.differentiable]
        self.bare = [_NAME_OF_CALL.sub(_bare, text) for text in self.texts]
        self.array_texts = _formulas_on_arrays(op)
        self.as_one = bool(self.array_texts) and op.base in _OBSERVERS_SEE_ONE
        self.hold(several=op.outputs is not None, many=self.count > 1)
        self.hold(on_arrays=self.array_texts, frees=any(map(op.is_freed, op.saved)))
        self.hold(as_one=self.as_one, observed=self.bare != self.texts and not self.as_one)

    def slots(self) -> str:
        return "".join(f"'s_{name}', " for name in self.op.saved).rstrip()

    def saved(self) -> str:
        return "".join(f"{name}, " for name in self.op.saved).rstrip()

    def freed(self) -> str:
        return str(tuple(name for name in self.op.saved if self.op.is_freed(name)))

    def nones(self) -> str:
        return f"[None] * {'len(node.next_edges)' if self.on_list else self.count}"

    def pairs(self) -> str:
        return ", ".join(f"(n{i}, _)" for i in range(self.count))

    def each_wanted(self) -> str:
        return "\n".join(f"n{i} = n{i} in wanted and n{i}" for i in range(self.count))

    def needs(self) -> str:
        return "".join(f", n{i}" for i in range(self.count) if self.count > 1)

    def forget(self) -> str:
        """Forget what observers are shown of saved values that are not read."""
        names = [name for name in self.op.saved if self.as_one and self.op.used_by(name)]
        return "\n".join(f"{name} = None" for name in names)

    def targets(self) -> str:
        return "".join(f"node.s_{name} = " for name in self.op.saved if self.op.is_freed(name))

    def unpack(self) -> str:
        """Saved values as local variables, tensors as tensors."""
        return "\n".join(line for name in self.op.saved for line in self._unpack(name, False))

    def unpack_arrays(self) -> str:
        """Saved values as local variables, arrays for tensors."""
        return "\n".join(line for name in self.op.saved for line in self._unpack(name, True))

    def _unpack(self, name: str, array: bool) -> list[str]:
        lines = [f"{name} = node.s_{name}"]
        if not self.op.is_freed(name) or self.on_list:
            return lines
        how = "unpack_array" if array else "unpack"
        if self.op.is_output(name):
            fresh = f"{name}[1][0] == {name}[2]" + ("" if array else " and not recording")
            value = f"{name}[0]" if array else f"wrap({name}[0])"
        else:
            fresh = f"{name}[0]._counter[0] == {name}[1]"
            value = f"{name}[0].array" if array else f"{name}[0]"
        fresh = f"{name}.__class__ is tuple and {fresh}"
        lines += choose(name, (fresh, value), ("", f"{how}({name}, node)"))
        users = self.op.used_by(name)
        return [f"if {users}:", *(f"    {line}" for line in lines)] if users else lines

    def widen(self) -> str:
        """Gradients of 16 bits are computed in float32; the engine rounds them."""
        lines = ["grad = in_float32(grad)"]
        for name in filter(self.op.is_freed, self.op.saved):
            users = self.op.used_by(name)
            lines.append(f"{f'if {users}: ' if users else ''}{name} = in_float32({name})")
        return "\n".join(lines)

    def gradients(self) -> str:
        return self._list(self.texts)

    def gradients_without_graph(self) -> str:
        return self._list(self.bare)

    def gradients_on_arrays(self) -> str:
        return self._list(["given" if x == "grad" else f"wrap({x})" for x in self.array_texts])

    def _list(self, texts: list[str]) -> str:
        if self.on_list:
            return f"list({texts[0]})"
        if len(texts) > 1:
            texts = [f"({text}) if n{i} else None" for i, text in enumerate(texts)]
        return listed("[]", texts)


def _bare(call: re.Match[str]) -> str:
    """`bare_mul(` for `mul(`, where that is an operator which has such a form."""
    op = None if call[1] in _BOTH else TABLE.get(call[1])
    if op is None:
        return call[0]
    op.parse()
    plain = not op.takes_any_number and not op.flags & {"make", "on_list"}
    fits = plain and not (op.is_composite or op.in_place or op.outputs)
    return f"bare_{call[0]}" if fits else call[0]


def _formulas_on_arrays(op: Op) -> list[str]:
    """The formulas on arrays, if every one has such a form."""
    if op.outputs is not None or "on_list" in op.flags:
        return []
    texts = []
    for p in op.differentiable:
        forms = op.formulas[p.name]
        named = names_in(compile(forms[-1], p.name, "eval"))
        if len(forms) < 2 and set(named) - _BOTH - set(op.asked[p.name]):
            return []
        texts.append(forms[-1])
    return texts
