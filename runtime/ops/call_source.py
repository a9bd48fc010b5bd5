"""The source of an operator's function: arguments read, arrays computed, a node recorded."""

from __future__ import annotations

import re
from collections.abc import Callable

from .rows import Op, Param

_UFUNC = re.compile(r"np\.\w+\(self(, other)?\)")
_MAKES = ("dtype=None", "device=None", "requires_grad=False", "generator=None", "pin_memory=False")


def _signature(op: Op) -> str:
    shown, keyword = [], False
    for p in op.params:
        if p.keyword and not keyword:
            keyword = True
            shown.append("*")
        name = python_name(op, p)
        keyword = keyword or bool(p.star)
        shown.append(f"{p.star}{name}" + ("" if p.default is None else f"={p.default}"))
    if "make" in op.flags:
        shown += _MAKES if keyword else ("*", *_MAKES)
    return ", ".join(shown)


def takes_any_number(op: Op) -> bool:
    return any(p.star for p in op.params)


def python_name(op: Op, param: Param) -> str:
    """A parameter's name for callers: PyTorch's functions say `input` for `self`."""
    if param.name != "self":
        return param.name
    return "tensors" if "on_list" in op.flags else "input"


def _tensor(op: Op, p: Param) -> str:
    """The variable that holds parameter `p` as it was given."""
    return python_name(op, p) if p.name == "self" else f"{p.name}_t"


def call_source(op: Op) -> list[str]:
    names = [python_name(op, p) for p in op.params]
    shown = [f"{p.star}{n}" for p, n in zip(op.params, names, strict=True) if not p.keyword]
    by_name = [n for p, n in zip(op.params, names, strict=True) if p.keyword]
    if "make" in op.flags:
        by_name += [text.partition("=")[0] for text in _MAKES]
    if not takes_any_number(op):
        shown, by_name = shown + by_name, []
    keywords = f", dict({', '.join(f'{n}={n}' for n in by_name)})" if by_name else ""
    lines = [
        f"def call({_signature(op)}):",
        f"    if active: return active[0].op(NAME, inner, ({', '.join([*shown, ''])}){keywords})",
    ]
    if op.is_composite:
        if names and names[0] in {"input", "tensors"}:
            lines.append(f"    self = {names[0]}")
        return [*lines, f"    return {op.expression}"]
    lines += _read(op)
    if "make" in op.flags:
        lines += ["    on_cpu(device)", *_forward(op), "    if pin_memory: pin(out)"]
        return [*lines, "    if requires_grad: out.requires_grad = True", "    return out"]
    if op.in_place:
        lines += _needs(op) + _before_in_place(op)
    lines += _forward(op)
    if op.outputs is not None:
        return lines + ([] if op.in_place else _needs(op)) + _record_several(op)
    return lines + ([] if op.in_place else _needs(op)) + _record(op)


def bare_source(op: Op) -> list[str]:
    """`call`, which shows `inner` to the observer; that records neither graph nor view."""
    names = ", ".join(python_name(op, p) for p in op.params)
    return [
        f"def inner({_signature(op)}):",
        *_read(op),
        *_forward(op),
        "    return out",
        f"def call({_signature(op)}):",
        f"    return active[0].op(NAME, _itself, ({names},))",
    ]


_OPERANDS = """\
    other_t = other
    try:
        target = self = input.array
        if other.__class__ in SCALARS:
            if self.dtype.kind != 'f' or other.__class__ is complex:
                self, other = promote(self, other)
        else:
            other = other.array
            if self.dtype is not other.dtype: self, other = promote(self, other)
    except AttributeError:
        return _itself(*as_tensors(NAME, input, other), *KEPT)"""
_LIST = """\
    if isinstance(tensors, Tensor): raise TypeError(NAME + ': expected a tuple')
    tensors = list(tensors)
    if not tensors: raise RuntimeError(NAME + ': expected a non-empty list')
    try: self = [x.array for x in tensors]
    except AttributeError: raise not_tensors(NAME, *tensors) from None"""
_STANDARD = {
    "dim": "dimension({0}, self.ndim)",
    "dims": "axes({0}, self.ndim)",
    "sizes": "sizes({0})",
}


def _read(op: Op) -> list[str]:
    """Arrays in place of tensors, attributes in their standard form."""
    lines = _arrays(op)
    if "promote" in op.flags:
        kept = "".join(f"{p.name}, " for p in op.params if not p.is_tensor)
        lines = [_OPERANDS.replace("KEPT", f"({kept})")]
    elif "on_list" in op.flags:
        lines = [_LIST]
    if "float" in op.flags:
        lines += ["    if self.dtype.kind != 'f':", "        self = to_float(self)"]
        if "promote" in op.flags:
            lines.append("        other = to_float(np.asarray(other))")
    for p in op.params:
        if p.kind in _STANDARD:
            lines.append(f"    {p.name} = " + _STANDARD[p.kind].format(p.name))
    return lines


def _arrays(op: Op) -> list[str]:
    lines = []
    required = [p for p in op.tensors if not p.kind and p.default is None]
    for p in op.tensors:
        if p.name != "self":
            lines.append(f"    {p.name}_t = {p.name}")
        elif p not in required:
            lines.append("    self = input")
        if p not in required:
            lines.append(f"    if isinstance({p.name}, Tensor): {p.name} = {p.name}.array")
    reads = "; ".join(f"{p.name} = {_tensor(op, p)}.array" for p in required)
    given = ", ".join(_tensor(op, p) for p in required)
    if reads:
        lines.append(f"    try: {reads}")
        lines.append(f"    except AttributeError: raise not_tensors(NAME, {given}) from None")
    return lines


def _forward(op: Op) -> list[str]:
    text = op.expression
    lines = ["    try:"]
    indent = "        "
    if "quiet" in op.flags:
        lines.append(f"{indent}with np.errstate(all='ignore'):")
        indent += "    "
    if op.in_place and _UFUNC.fullmatch(text):
        casting = "same_kind" if "float" in op.flags else "unsafe"
        lines.append(f"{indent}{text[:-1]}, out=target, casting={casting!r})")
    elif op.in_place:
        lines.append(f"{indent}write(NAME, target, {text})")
    elif op.outputs is not None:
        lines.append(f"{indent}made = {text}")
    else:
        lines.append(f"{indent}out = wrap({text})")
    given = ", ".join(p.name for p in op.tensors)
    return [
        *lines,
        "    except (ValueError, TypeError, OverflowError) as error: "
        f"raise failed(NAME, error, {given}) from None",
    ]


def _needs(op: Op) -> list[str]:
    """`n0`, `n1`...: which differentiable inputs need a gradient."""
    if not op.differentiable:
        return []
    if "on_list" in op.flags:
        return [
            "    needs = [x._rg or (x._view is not None and late_grad(x)) for x in tensors]",
            "    n0 = True in needs",
        ]
    lines = []
    for i, p in enumerate(op.differentiable):
        t = _tensor(op, p)
        test = f"{t}._rg or ({t}._view is not None and late_grad({t}))"
        optional = p.kind or p.default is not None or ("promote" in op.flags and p.name == "other")
        lines.append(
            f"    n{i} = " + (f"isinstance({t}, Tensor) and ({test})" if optional else test)
        )
    return lines


def _any(op: Op) -> str:
    return " or ".join(f"n{i}" for i in range(len(op.differentiable)))


def _save(op: Op, indent: str, made: Callable[[str], str]) -> list[str]:
    """Fill the node's slots; op_node.py says with what."""
    lines = []
    for name in op.saved:
        owner, _, what = name.rpartition("_")
        p = next((p for p in op.params if p.name in {name, owner}), None)
        if op.is_output(name):
            value = made(name)
        elif p is not None and p.name == name:
            value = _saved(op, p)
        elif what == "shapes":
            value = "[x.shape for x in self]"
        else:
            loose = "promote" in op.flags or (p is not None and p.kind)
            value = f"np.asarray({owner}).{what}" if loose else f"{owner}.{what}"
        if op.used_by(name) and op.is_freed(name):
            value = f"({value}) if {op.used_by(name)} else None"
        lines.append(f"{indent}node.s_{name} = {value}")
    return lines


def _saved(op: Op, p: Param) -> str:
    if not p.is_tensor:
        return p.name
    t = "old" if p.name == "self" and op.in_place else _tensor(op, p)
    if "on_list" in op.flags:
        return f"list({t})"
    value = f"({t}, {t}._counter[0]) if not hooked and {t}._counter else SavedVariable({t})"
    optional = p.kind or p.default is not None or "promote" in op.flags
    return f"({value}) if isinstance({t}, Tensor) else {t}" if optional else value


def _new_node(op: Op, indent: str, metadata: str) -> list[str]:
    if "on_list" in op.flags:
        edges = "tuple([gradient_edge(x) if n else NO_EDGE for x, n in zip(tensors, needs)])"
    else:
        each = []
        for i, p in enumerate(op.differentiable):
            t = _tensor(op, p)
            sure = len(op.differentiable) == 1
            each.append(f"gradient_edge({t})" + ("" if sure else f" if n{i} else NO_EDGE"))
        edges = f"({', '.join(each)},)"
    return [
        f"{indent}node = new(Node_)",
        f"{indent}node.next_edges = {edges}",
        f"{indent}node.input_metadata = {metadata}",
        f"{indent}node.hooks = None",
        f"{indent}node.sequence_nr = thread.sequence_nr",
        f"{indent}thread.sequence_nr += 1",
    ]


def _record(op: Op) -> list[str]:
    if op.in_place:
        lines = ["    bump_version(input)"]
        if op.differentiable:
            lines.append("    if recording:")
            if "result" in op.saved:
                lines.append("        node.s_result = SavedVariable(input, True)")
            lines.append("        rebase_history(input, node)")
        return [*lines, "    return input"]
    lines = []
    start = f"    if {'recorded' if 'view' in op.flags else 'is_grad_enabled()'} and ({_any(op)}):"
    if "view" in op.flags:
        attributes = [p for p in op.params if p.name != "self"]
        args = "".join(f"{p.star}{p.name}, " for p in attributes)
        lines += [
            "    recorded = is_grad_enabled()",
            "    out._counter = input._counter",
            f"    out._view = ViewInfo(input, _itself, ({args}), recorded)",
            "    out._rg = input._rg",
        ]
    if op.differentiable:
        inner = " " * 8
        lines += [start, f"{inner}array = out.array"]
        lines += _new_node(op, inner, "((array.shape, array.dtype),)")
        lines += [f"{inner}out._node = node", f"{inner}out._rg = True"]
        lines += _save(
            op, inner, lambda _: "SavedVariable(out, True) if hooked else (array, out._counter, 0)"
        )
    return [*lines, "    return out"]


def _before_in_place(op: Op) -> list[str]:
    lines = [] if "promote" in op.flags else ["    target = input.array"]
    others = [p.name for p in op.tensors if p.name != "self"]
    if others and op.base not in {"copy", "fill", "masked_fill", "scatter"}:  # these cast
        lines.append(f"    same_kind(NAME, target, {', '.join(others)})")
    if not op.differentiable:
        return [*lines, "    check_inplace(input, False)"]
    lines += [
        f"    recording = ({_any(op)}) and is_grad_enabled()",
        "    check_inplace(input, recording)",
        "    if recording:",
    ]
    if "self" in op.saved:
        lines.append("        old = input.clone()")  # with its graph, for second derivatives
    lines += _new_node(op, " " * 8, "((target.shape, target.dtype),)")
    return lines + _save(op, " " * 8, lambda _: "None")


def _record_several(op: Op) -> list[str]:
    lines = ["    outs = [wrap(x) for x in made]"]
    if op.differentiable:
        inner = " " * 8
        lines.append(f"    if ({_any(op)}) and is_grad_enabled():")
        metadata = "tuple([(x.array.shape, x.array.dtype) for x in outs])"
        lines += _new_node(op, inner, metadata)
        lines += [
            f"{inner}for number, out in enumerate(outs):",
            f"{inner}    if out.array.dtype.kind in 'fcV':",
            f"{inner}        out._node, out._rg, out.output_nr = node, True, number",
        ]
        place = {name: i for i, name in enumerate(op.outputs or ())}
        lines += _save(
            op, inner, lambda n: f"SavedVariable(outs[{place[n]}], outs[{place[n]}]._rg)"
        )
    return [*lines, "    return " + ("Outputs(*outs)" if op.outputs else "tuple(outs)")]
