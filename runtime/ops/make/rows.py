"""One row of the table, taken apart: its parameters, its formulas, and what they need."""

from __future__ import annotations

import re
import types
from typing import Any, NamedTuple

_ROW = re.compile(r"([\w.]+)\((.*?)\)(?: -> (list|\(.*?\)))? (:?=) (.*)", re.DOTALL)
_OF_INPUTS = {"shape", "shapes", "strides", "dtype"}
_MAKER = (
    "*, layout: any = 'torch.strided', dtype: any = None, device: any = None, "
    "requires_grad: any = False, generator: any = None, pin_memory: any = False"
)
_SECOND = dict.fromkeys(("sum", "mean", "prod"), "dim is not None")
_SECOND |= dict.fromkeys(("max_all", "min_all", "median_dim", "nanmedian_dim"), "True")
_SECOND |= dict.fromkeys(("pow", "remainder"), "isinstance(other_t, Tensor)")
_SECOND |= {"masked_fill": "isinstance(value_t, Tensor)", "squeeze": "isinstance(dim, int)"}
_SECOND |= {"lerp": "isinstance(weight_t, Tensor)", "scatter_src": "not isinstance(src_t, Tensor)"}
_SECOND |= {"clamp": "not (isinstance(min_t, Tensor) or isinstance(max_t, Tensor))"}


class Param(NamedTuple):
    """One parameter of a row."""

    name: str
    kind: str  # "" for a tensor
    default: str | None
    star: str  # "*" for one that takes all further arguments
    keyword: bool  # given by name alone

    @property
    def is_tensor(self) -> bool:
        """Whether it may be a tensor."""
        return self.kind in {"", "number"}


class Op:
    """One row of the table."""

    def __init__(
        self, key: str, row: str, flags: frozenset[str], space: dict[str, Any], in_place: bool
    ) -> None:
        prefix = "".join(f"{p}_" for p in ("linalg", "fft") if p in flags)
        base, dot, overload = key.partition(".")
        last = "_" if in_place else ""
        self.base = prefix + base
        self.key = prefix + key.replace(".", "_") + last  # its name in the table
        self.name = f"aten::{self.base}{last}"  # what observers see
        self.full_name = f"{self.name}{dot}{overload}"
        self.row = row
        self.flags = flags
        self.space = space  # the names that its text may use
        self.in_place = in_place
        self.node_class: Any = None  # this and the next are made when first needed
        self.bare: Any = None
        self._parsed = False

    def parse(self) -> Op:
        """Take the row's text apart; done once, when first needed."""
        if self._parsed:
            return self
        head, *rest = self.row.split("\n")
        formulas: list[tuple[str, str]] = []
        for line in rest:
            name, colon, text = line.strip().partition(": ")
            if colon and re.fullmatch(r"\w+", name) and _ROW.fullmatch(head):
                formulas.append((name, text))
            elif formulas:
                formulas[-1] = (formulas[-1][0], f"{formulas[-1][1]} {line.strip()}")
            else:
                head += " " + line.strip()
        match = _ROW.fullmatch(head)
        assert match is not None, f"not a row: {head}"
        _, params, outputs, sign, expression = match.groups()
        expression, arrow, formula = expression.partition(" => ")
        if arrow:
            formulas.insert(0, ("self", formula))
        self.expression = expression
        self.is_composite = sign == ":="
        self.outputs: tuple[str, ...] | None = None
        if outputs:
            self.outputs = () if outputs == "list" else tuple(outputs[1:-1].split(", "))
        self.params = _params(params)
        names = {p.name for p in self.params}
        assert not names & {"grad", "result", *(self.outputs or ())}, f"a formula's name: {head}"
        if "make" in self.flags:
            self.params += _params(_MAKER)
        self.formulas = {n: tuple(f.split(" || ")) for n, f in formulas}
        self.tensors = [p for p in self.params if p.is_tensor]
        self.differentiable = [p for p in self.params if p.name in self.formulas]
        self.asked = {p.name: self._asked(p.name) for p in self.differentiable}
        self.saved = list(dict.fromkeys(n for names in self.asked.values() for n in names))
        self._parsed = True
        return self

    def _asked(self, name: str) -> list[str]:
        """What the formula for an input needs, but for the gradients."""
        inputs = {p.name for p in self.params}
        found = list[str]()
        for text in self.formulas[name]:
            for used in names_in(compile(text, name, "eval")):
                owner, _, what = used.rpartition("_")
                if used in inputs | {"result", *(self.outputs or ())} or (
                    owner in inputs and what in _OF_INPUTS
                ):
                    found.append(used)
        return list(dict.fromkeys(found))

    def used_by(self, name: str) -> str:
        """`n0 or n2`: when a saved value is needed; empty for always."""
        users = [i for i, p in enumerate(self.differentiable) if name in self.asked[p.name]]
        if len(users) == len(self.differentiable):
            return ""
        return " or ".join(f"n{i}" for i in users)

    def is_output(self, name: str) -> bool:
        """Tell whether a saved value is a result of the operator."""
        return name == "result" or name in (self.outputs or ())

    def is_freed(self, name: str) -> bool:
        """Tell whether a saved value is a tensor, and so goes after a backward."""
        return self.is_output(name) or any(p.name == name for p in self.tensors)

    def file(self, part: str = "") -> str:
        """Return the name in tracebacks of its generated source: its function, or another part."""
        return f"<operator {self.full_name} {part}>" if part else f"<operator {self.full_name}>"

    @property
    def takes_any_number(self) -> bool:
        """Whether it has a parameter for all further arguments by position."""
        return any(p.star for p in self.params)

    @property
    def is_second(self) -> str:
        """When a call is PyTorch's second overload, whose nodes end in 1; empty for never."""
        return _SECOND.get(self.key.removesuffix("_") if self.in_place else self.key, "")

    @property
    def title(self) -> str:
        """The name of its nodes."""
        return self.base.strip("_").title().replace("_", "") + "Backward0"


def _params(text: str) -> list[Param]:
    found, keyword = [], False
    for part in re.split(r", (?![^(]*\))", text) if text else ():
        if part == "*":
            keyword = True
            continue
        declared, _, default = part.partition(" = ")
        name, _, kind = declared.partition(": ")
        star = "*" if name.startswith("*") else ""
        found.append(Param(name.lstrip("*"), kind, default or None, star, keyword))
    return found


def names_in(code: types.CodeType) -> list[str]:
    """Return all that some code, and the code inside it, may look up outside itself."""
    found, stack = list[str](), [code]
    while stack:
        one = stack.pop()
        stack += [c for c in one.co_consts if isinstance(c, types.CodeType)]
        found += one.co_names
    return found
