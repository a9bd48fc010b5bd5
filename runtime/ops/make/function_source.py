"""The source of an operator's function: arguments read, arrays computed, a node recorded.

Words that hold of a row, beside those of its header: `composite`, `writes` or `makes` (which of the
three its code does), `recorded` (it may have a node), `several` (outputs), `saves_x`, `renamed`
(callers know `self` by another name) and `same_kind` (what it writes has to be of a like dtype).
"""

from __future__ import annotations

import re

import numpy as np

from . import templates
from .rows import Op, Param
from .templates import Pieces, choose, listed

_STANDARD = {
    "dim": "dimension({0}, self.ndim)",
    "dims": "axes({0}, self.ndim)",
    "sizes": "sizes({0})",
}
_PLAIN = "{0} = python_number({0})"
_NUMBER = re.compile(r"-?[\d.]+(e-?\d+)?")
_UFUNC = re.compile(r"np\.(\w+)\(self(?:, other)?\)")
# Their results may be written to another dtype, as what is promoted may.
_CASTS_OUT = "addcdiv addcmul addr angle bernoulli cat clamp cosine_similarity cumprod cumsum "
_CASTS_OUT += "hstack lerp logical_not logit mean nanmean nansum normal outer polygamma prod "
_CASTS_OUT += "square stack sum vstack"
# In place, they may read what they write to, and write to elements that share their memory.
_ANYWHERE = {"fill", "index_fill", "masked_fill", "zero"}
_CASTS = {"copy", "fill", "index_fill", "masked_fill", "scatter"}  # in place, from any dtype


def function_source(op: Op, bare: bool = False) -> str:
    """Return `def mul(input, other): ...`; if `bare`, without what records a node or a view."""
    return _Function(op, bare).fill(templates.FUNCTION)


class _Function(Pieces):
    def __init__(self, op: Op, bare: bool) -> None:
        super().__init__(op)
        self.differentiable = [] if bare else op.differentiable
        self.several = op.outputs is not None
        self.on_list = "on_list" in op.flags
        self.holds -= {"view"} if bare else set()
        computes = not op.is_composite
        self.hold(writes=computes and op.in_place, makes=computes and not op.in_place)
        self.hold(composite=op.is_composite, recorded=self.differentiable, several=self.several)
        self.hold(same_kind=self.others() and op.base not in _CASTS)
        self.hold(laid=computes and "promote" in op.flags and not (op.in_place or self.several))
        self.hold(apart=op.base not in _ANYWHERE)
        wide = computes and "wide" in op.flags
        self.hold(widens=wide and not ("promote" in op.flags and _UFUNC.fullmatch(op.expression)))
        names = {p.name for p in op.params}
        reduces = names & {"dim", "keepdim"} if not op.in_place and "." not in op.key else set()
        self.hold(axis="dim" in reduces, keepdims="keepdim" in reduces, out=self.takes_out(bare))
        switch = "inplace" in op.flags and not op.in_place
        self.hold(inplace=switch, legacy="size_average" in names)
        if "inplace" in op.flags and op.in_place:
            self.holds.discard("inplace")
        self.hold(starred=self.star(), first="pair" in op.flags)
        self.hold(tensors_only=op.is_composite and "pair" in op.flags)
        self.hold(renamed=op.is_composite and self.first() in {"input", "tensors"})

    def first(self) -> str:
        return self._name(self.op.params[0]) if self.op.params else ""

    def signature(self) -> str:
        shown, keyword = list[str](), False
        for p in self.op.params:
            if p.star and p.name == self.star():
                shown += [f"*{p.name}_", f"{p.name}=None"]
                keyword = True
                continue
            if p.keyword and not keyword:
                shown.append("*")
            keyword = keyword or p.keyword or bool(p.star)
            default = "" if p.default is None else f"={p.default}"
            shown.append(f"{p.star}{self._name(p)}{default}")
        more = [f"{name}=None" for name in ("axis", "keepdims", "out") if name in self.holds]
        if "inplace" in self.holds:
            shown.append("inplace=False")
        if more and not keyword:
            shown.append("*")
        return ", ".join(shown + more)

    def written(self) -> str:
        """Write the result to the first operand, and return that."""
        if "in_place" in self.op.flags:
            return f"aten.{self.op.key}_({self.again()})"
        return f"input.copy_(_itself({self.again().replace('input', 'input.clone()', 1)}))"

    def takes_out(self, bare: bool) -> bool:
        """Tell whether a caller may give the tensor that the result is written to."""
        op, public = self.op, self.op.flags & {"torch", "linalg", "fft"}
        alone = "make" in op.flags or (public and "." not in op.key)
        return bool(alone and not bare and not op.in_place and "view" not in op.flags)

    def strict(self) -> str:
        """Tell whether `out` has to be of the result's dtype."""
        if "make" in self.op.flags:
            return "dtype is not None"
        loose = {"promote", "float", "fft"} & self.op.flags
        return str(not loose and self.op.base not in _CASTS_OUT.split())

    def read_by_out(self) -> str:
        """Return the arguments that `out` is held against; sizes are none."""
        return "()" if self.op.takes_any_number else f"({self.given()})"

    def operands_given(self) -> str:
        return ", ".join(self._name(p) for p in self.op.tensors)

    def operands_read(self) -> str:
        return "; ".join(f"{self._name(p)}.array" for p in self.op.tensors)

    def star(self) -> str:
        """Return the parameter that takes any number of sizes, also by its name."""
        return next((p.name for p in self.op.params if p.star and p.kind == "sizes"), "")

    def again(self) -> str:
        """Return the same arguments for another call of the function."""
        starred = any(p.star for p in self.op.params)
        each = [(p, self._name(p)) for p in self.op.params]
        first = [f"{p.star}{name}" for p, name in each if not p.keyword]
        if starred and self.star():
            first = [f"*({self.star()}_ if {self.star()} is None else ({self.star()},))"]
            first = [*(n for p, n in each if not p.keyword and not p.star), *first]
        return ", ".join(first + [f"{name}={name}" for p, name in each if p.keyword])

    def given(self) -> str:
        """Return what an observer gets as arguments by position: all, if there is no `*args`."""
        shown = [p for p in self.op.params if not (p.keyword and self.op.takes_any_number)]
        return "".join(f"{p.star}{self._name(p)}, " for p in shown).rstrip()

    def by_name(self) -> str:
        names = [p.name for p in self.op.params if p.keyword and self.op.takes_any_number]
        return f", dict({', '.join(f'{n}={n}' for n in names)})" if names else ""

    def attributes(self) -> str:
        """Return all arguments but the first operands."""
        tensors = self.op.tensors if "promote" in self.op.flags else self.op.params[:1]
        return "".join(f"{p.star}{p.name}, " for p in self.op.params if p not in tensors)

    def arrays(self) -> str:
        """Arrays in place of tensors."""
        if self.holds & {"promote", "on_list"}:
            return ""
        lines = list[str]()
        required = [p for p in self.op.tensors if not p.kind and p.default is None]
        for p in self.op.tensors:
            if p.name != "self":
                lines.append(f"{p.name}_t = {p.name}")
            elif p not in required:
                lines.append("self = input")
            if p not in required:
                lines.append(f"if isinstance({p.name}, Tensor): {p.name} = {p.name}.array")
            if p.kind == "number":
                lines.append(f"elif isinstance({p.name}, np.generic): {_PLAIN.format(p.name)}")
        if required:
            reads = "; ".join(f"{p.name} = {self._tensor(p)}.array" for p in required)
            given = ", ".join(map(self._tensor, required))
            wrong = f"raise not_tensors(NAME, {given}) from None"
            lines += [f"try: {reads}", f"except AttributeError: {wrong}"]
        return "\n".join(lines)

    def standard(self) -> str:
        """Attributes in their standard form."""
        kinds = [(p.name, _STANDARD[p.kind]) for p in self.op.params if p.kind in _STANDARD]
        numbers = [
            f"if isinstance({p.name}, np.generic): {_PLAIN.format(p.name)}"
            for p in self.op.params
            if not p.is_tensor and (p.kind == "float" or _NUMBER.fullmatch(p.default or ""))
        ]
        return "\n".join([f"{name} = {form.format(name)}" for name, form in kinds] + numbers)

    def compute(self) -> str:
        text = self.op.expression
        if not self.op.in_place:
            return f"made = {text}" if self.several else f"out = wrap({text})"
        call = _UFUNC.fullmatch(text)
        if call and isinstance(getattr(np, call[1]), np.ufunc):
            casting = "same_kind" if "float" in self.op.flags else "unsafe"
            return f"{text[:-1]}, out=target, casting={casting!r})"
        return f"write(NAME, target, {text})"

    def and_sums(self) -> str:
        """`index_put_` writes to what is expanded, but does not add to it."""
        return " and accumulate" if self.op.base == "index_put" else ""

    def read_apart(self) -> str:
        """Refuse operands that lie in the memory which is written to."""
        one = "{0}.__class__ is np.ndarray and ({0}.base is not None or target.base is not None)"
        test = f"if {one}: refuse_overlap(target, {{0}})"
        return "\n".join(test.format(p.name) for p in self.op.tensors if p.name != "self")

    def first_array(self) -> str:
        return self.op.tensors[0].name

    def promoted(self) -> str:
        """Return the call that brings two operands to one dtype."""
        bring = "promoted" if self.op.base != "sub" else "without_bools"
        words = {"float": ", floats=True", "opmath": ", opmath=True"}
        return f"{bring}(self, other{''.join(words[x] for x in words if x in self.op.flags)})"

    def widen(self) -> str:
        """Operands of 16 bits are computed with in float32."""
        names = ", ".join(p.name for p in self.op.tensors)
        return f"half, {names} = widened({names})"

    def narrow(self) -> str:
        """... and the result is rounded to 16 bits."""
        if self.op.in_place:
            return ""
        if self.several:
            return "if half is not None: made = [narrowed(x, half) for x in made]"
        return "if half is not None: out.array = narrowed(out.array, half)"

    def in_order(self) -> str:
        """Results of the first layout, whatever that of the operands is."""
        if self.op.in_place:
            return ""
        if self.several:
            return "made = [np.asarray(x, order='C') for x in made]"
        found = "out.array.ndim > 1 and not out.array.flags.c_contiguous"
        return f"if {found}: out.array = out.array.copy()"

    def operands(self) -> str:
        return ", ".join(p.name for p in self.op.tensors)

    def others(self) -> str:
        return "".join(f", {p.name}" for p in self.op.tensors if p.name != "self")

    def needs(self) -> str:
        """`n0`, `n1`...: which differentiable inputs need a gradient."""
        if self.differentiable and self.on_list:
            return templates.LIST_NEEDS
        lines = []
        for i, p in enumerate(self.differentiable):
            x = self._tensor(p)
            test = f"{x}._rg or ({x}._view is not None and late_grad({x}))"
            if self._may_be_number(p):
                test = f"isinstance({x}, Tensor) and (\n    {test})"
            lines.append(f"n{i} = {test}")
        return "\n".join(lines)

    def any_needed(self) -> str:
        return " or ".join(f"n{i}" for i in range(len(self.differentiable)))

    def recording(self) -> str:
        return "recorded" if "view" in self.op.flags else "is_grad_enabled()"

    def edges(self) -> str:
        if self.on_list:
            return "tuple([gradient_edge(x) if n else NO_EDGE for x, n in zip(tensors, needs)])"
        each = [f"gradient_edge({self._tensor(p)})" for p in self.differentiable]
        if len(each) > 1:
            each = [f"{edge} if n{i} else NO_EDGE" for i, edge in enumerate(each)]
        return listed("()", each)

    def kind(self) -> str:
        """Return the class of the new node."""
        first, test = self.op.title, self.op.is_second
        return f"{first}.second if {test} else {first}" if test else first

    def metadata(self) -> str:
        """Return the shape and dtype of each output."""
        if self.several:
            pair = "(x.array.shape, x.array.dtype)"
            return f"tuple([{pair} for x in outs if x.array.dtype.kind in 'fcV'])"
        array = "target" if self.op.in_place else "array"
        return f"(({array}.shape, {array}.dtype),)"

    def returned(self) -> str:
        return "out" if not self.several else "Outputs(*outs)" if self.op.outputs else "tuple(outs)"

    def save(self) -> str:
        """Fill the node's slots; op_node.py says with what."""
        return "\n".join(line for name in self.op.saved for line in self._save(name))

    def _save(self, name: str) -> list[str]:
        op = self.op
        owner, _, what = name.rpartition("_")
        p = next((p for p in op.params if p.name in {name, owner}), None)
        if op.is_output(name):
            cases = self._result(name)
        elif p is not None and p.name == name:
            cases = self._input(p)
        elif what == "shapes":
            cases = [("", "[x.shape for x in self]")]
        else:
            loose = "promote" in op.flags or (p is not None and p.kind)
            cases = [("", f"np.asarray({owner}).{what}" if loose else f"{owner}.{what}")]
        users = op.used_by(name)
        if users and op.is_freed(name):
            unneeded = f"not ({users})" if " " in users else f"not {users}"
            cases.insert(0, (unneeded, "None"))
        return choose(f"node.s_{name}", *cases)

    def _result(self, name: str) -> list[tuple[str, str]]:
        if self.op.outputs is not None:
            out = f"outs[{self.op.outputs.index(name)}]"
            return [("", f"SavedVariable({out}, {out}._rg)")]
        if self.op.in_place:
            return [("", "None")]  # until it is computed
        return [("hooked", "SavedVariable(out, True)"), ("", "(array, out._counter, 0)")]

    def _input(self, p: Param) -> list[tuple[str, str]]:
        if not p.is_tensor:
            return [("", p.name)]
        x = "old" if p.name == "self" and self.op.in_place else self._tensor(p)
        if self.on_list:
            return [("", f"list({x})")]
        cases = [
            (f"hooked or not {x}._counter", f"SavedVariable({x})"),
            ("", f"({x}, {x}._counter[0])"),
        ]
        if self._may_be_number(p):
            cases.insert(0, (f"not isinstance({x}, Tensor)", x))
        return cases

    def _name(self, p: Param) -> str:
        """A parameter's name for callers: PyTorch's functions say `input` for `self`."""
        if p.name != "self":
            return p.name
        return "tensors" if self.on_list else "input"

    def _tensor(self, p: Param) -> str:
        """The variable that holds a parameter as it was given."""
        return self._name(p) if p.name == "self" else f"{p.name}_t"

    def _may_be_number(self, p: Param) -> bool:
        """Whether the argument for an operand may be something else than a tensor."""
        second = "promote" in self.op.flags and p.name == "other"
        return bool(p.kind) or p.default is not None or second
