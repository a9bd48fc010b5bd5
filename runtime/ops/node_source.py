"""The source of an operator's node class: its saved values, and its formulas."""

from __future__ import annotations

import re

from .rows import Op, names_in
from .table import TABLE

_NAME_OF_CALL = re.compile(r"(?<![\w.])(\w+)\(")
_ONE_KERNEL = {"gelu", "native_layer_norm", "native_batch_norm", "native_group_norm"}
_BOTH = {"conj", "grad", "grads"}  # names that mean the same for tensors and for arrays


def node_source(op: Op) -> str:
    """`class MulBackward0(OpNode): ...`."""
    slots = "".join(f"'s_{name}', " for name in op.saved)
    lines = [
        f"class {op.title}(OpNode):",
        f"    __slots__ = ({slots})",
        f"    tensors = {tuple(name for name in op.saved if op.is_freed(name))}",
        "    def apply(node, grads):",
    ]
    count = len(op.differentiable)
    if op.outputs is None:
        lines += [
            "        grad = grads[0]",
            f"        if grad is None: return [None] * {count}"
            if "on_list" not in op.flags
            else "        if grad is None: return [None] * len(node.next_edges)",
        ]
    else:
        lines.append(f"        if not [g for g in grads if g is not None]: return [None] * {count}")
    if count > 1:
        targets = ", ".join(f"(n{i}, _)" for i in range(count))
        lines += [f"        {targets} = node.next_edges", "        wanted = thread.exec_info"]
        lines.append("        if wanted is not None:")
        lines += [f"            n{i} = n{i} in wanted and n{i}" for i in range(count)]
    lines.append("        recording = is_grad_enabled()")
    on_arrays = _array_formulas(op)
    if on_arrays:
        lines += [
            "        if not recording and not active:",
            "            given = grad",
            "            grad = given.array",
            *_unpacked(op, "unpack_array", " " * 12),
            *_answer(op, on_arrays, " " * 12, arrays=True),
        ]
    one_kernel = bool(on_arrays) and op.base in _ONE_KERNEL
    if one_kernel:
        lines += [f"        {name} = None" for name in op.saved if op.used_by(name)]
    lines += _unpacked(op, "unpack", " " * 8)
    if one_kernel:
        lines += _shown_as_one(op, count)
    texts = [op.formulas[p.name][0] for p in op.differentiable]
    bare = [_NAME_OF_CALL.sub(_bare, text) for text in texts]
    if bare != texts and not one_kernel:
        lines.append("        if active and not recording:")
        lines += _answer(op, bare, " " * 12, arrays=False)
    lines += _answer(op, texts, " " * 8, arrays=False)
    saved = [name for name in op.saved if op.is_freed(name)]
    if saved:
        targets = "".join(f"node.s_{name} = " for name in saved)
        lines += ["    def release_variables(node):", f"        {targets}FREED"]
    if one_kernel:
        needs = "".join(f", n{i}" for i in range(count) if count > 1)
        lines += [f"    def at_once(node, given{needs}):", "        grad = given.array"]
        lines += _unpacked(op, "unpack_array", " " * 8)
        lines += _answer(op, on_arrays, " " * 8, arrays=True)
    return "\n".join(lines)


def _shown_as_one(op: Op, count: int) -> list[str]:
    """To an observer all formulas are one operator, `aten::gelu_backward`."""
    needs = "".join(f", n{i}" for i in range(count) if count > 1)
    shown = "".join(f"{name}, " for name in op.saved)
    return [
        "        if active and not recording:",
        f"            def run(given, *_): return node.at_once(given{needs})",
        f"            return active[0].op('{op.name}_backward', run, (grad, {shown}))",
    ]


def _bare(call: re.Match[str]) -> str:
    op = None if call[1] in _BOTH else TABLE.get(call[1])
    if op is None:
        return call[0]
    op.parse()
    plain = not any(p.star for p in op.params) and not op.flags & {"make", "on_list"}
    fits = plain and not (op.is_composite or op.in_place or op.outputs)
    return f"bare_{call[0]}" if fits else call[0]


def _array_formulas(op: Op) -> list[str]:
    """The formulas on arrays, if every one has such a form."""
    if op.outputs is not None or "on_list" in op.flags:
        return []
    found = []
    for p in op.differentiable:
        texts = op.formulas[p.name]
        named = names_in(compile(texts[-1], p.name, "eval"))
        if len(texts) < 2 and set(named) - _BOTH - set(op.asked[p.name]):
            return []
        found.append(texts[-1])
    return found


def _unpacked(op: Op, how: str, indent: str) -> list[str]:
    lines = []
    for name in op.saved:
        if not op.is_freed(name) or "on_list" in op.flags:
            lines.append(f"{indent}{name} = node.s_{name}")
            continue
        if op.used_by(name):
            lines.append(f"{indent}if {op.used_by(name)}:")
        deeper = indent + "    " if op.used_by(name) else indent
        lines.append(f"{deeper}{name} = node.s_{name}")
        fresh, found = f"{name}[0]._counter[0] == {name}[1]", f"{name}[0]"
        if op.is_output(name):
            fresh = f"{name}[1][0] == {name}[2]"
            found = found if how == "unpack_array" else f"wrap({found})"
        elif how == "unpack_array":
            found += ".array"
        test = f"{name}.__class__ is tuple and {fresh}"
        if how == "unpack" and op.is_output(name):
            test += " and not recording"
        lines.append(f"{deeper}{name} = {found} if {test} else {how}({name}, node)")
    return lines


def _answer(op: Op, texts: list[str], indent: str, arrays: bool) -> list[str]:
    if "on_list" in op.flags:
        return [f"{indent}return list({texts[0]})"]
    found = []
    for i, text in enumerate(texts):
        value = text
        if arrays:
            value = "given" if text == "grad" else f"wrap({text})"
        found.append(value if len(texts) == 1 else f"({value}) if n{i} else None")
    return [f"{indent}return [{', '.join(found)}]"]
