"""How an operator is written: as a row of a table, of which its code is made.

Three rows, under a header that says what holds for those below it:

    [torch tensor float quiet in_place]
    exp(self) = np.exp(self) => grad * conj(result)

The forward stands behind `=` and computes on arrays: `self` is the tensor's array. Behind `=>` is
the gradient of `self`, from `grad`, the gradient of the result, and `result` itself. The header
makes `torch.exp`, `Tensor.exp` and `Tensor.exp_` of it.

    atan2(self, other) = np.arctan2(self, other)
        self: grad * other / (self * self + other * other)
        other: -grad * self / (self * self + other * other)

With several inputs each has a line for its gradient; one without such a line has none. Here `self`
and `other` are the saved inputs. A formula is made of operators, so it has derivatives itself.

    softplus_twice(self, *, beta: any = 1) := softplus(softplus(self, beta), beta)

Behind `:=` stands an expression on tensors: an operator made of others, which bring the gradients.

Parameters: one without a kind is a tensor, and one of kind `number` a tensor or a number. All
others are attributes, which formulas may use: kinds `dim`, `dims` and `sizes` are brought to
their standard form (dimensions counted from the front), any other word is a note for the reader.
`*` is Python's: what follows is given by name alone, and `*dims` takes any number.

Names: `add.to` is an overload. Observers see `aten::add`, the runtime calls it `aten.add_to`, and
it is not public. An expression may name operators, the functions of make/arguments.py, and
whatever the module that declares the row has imported or defined.

Formulas: they may use `grad`, inputs, attributes, `result`, and `x_shape`, `x_strides` and
`x_dtype` of an input `x`. Only what they use is saved. Behind `||` may stand a second form on
arrays, which runs where no graph of the gradient is recorded; a formula of arithmetic alone needs
none. The engine undoes broadcasting.

Several outputs: `-> (values, indices)` behind the parameters makes a named tuple, `-> list` a
tuple. Formulas use the outputs by name and `grads`, where None stands for a gradient that did not
come.

The words of a header are places where rows are public (torch, tensor, nn, linalg, fft), and

    promote        two operands, tensors or numbers, are brought to one dtype by PyTorch's rules
    pair           both operands have to be tensors
    first          the first of two operands has to be a tensor
    float          integers become the default floating dtype first
    wide           16-bit floats are computed with in float32, and the result is rounded to 16
    opmath         a number beside 16-bit floats keeps the digits of float32, PyTorch's opmath_t
    contiguous     the results lie in order, also where the operands do not
    quiet          numpy does not warn of overflow, division by zero and the like
    in_place       there is also a form `name_` that writes to its first operand
    inplace        a last argument `inplace` has the result written to the first operand
    only_in_place  there is only such a form, which is a method
    view           the result shares the input's memory
    make           it makes a tensor of nothing, and takes dtype, device, requires_grad, generator
    on_list        the first parameter is a list of tensors; its formula is a list of gradients

Nothing is compiled before an operator's first call: see generate.py.

Source: aten/src/ATen/native/native_functions.yaml and tools/autograd/derivatives.yaml, which are to
PyTorch what these rows are here.
"""

from __future__ import annotations

import re
from typing import Any

from ...core.aten import aten
from .generate import lazily
from .rows import Op
from .table import PLACES, TABLE, publish


def declare(space: dict[str, Any], text: str) -> None:
    """Make operators of rows. `space` is the declaring module's names, for their expressions."""
    flags: frozenset[str] = frozenset()
    for chunk in re.split(r"\n(?=\S)", text.strip()):
        if chunk.startswith("["):
            flags = frozenset(chunk[1:-1].split())
            continue
        key = chunk[: chunk.index("(")]
        op = Op(key, chunk.rstrip(), flags, space, in_place=False)
        _register(op, key, flags)
        if flags & {"in_place", "only_in_place"}:
            twin = Op(key, op.row, flags, space, in_place=True)
            alone = "only_in_place" in flags
            shown = f"{op.base if alone else key}_"
            _register(twin, shown, flags | {"tensor"} if alone else flags)


def _register(op: Op, shown: str, flags: frozenset[str]) -> None:
    call = lazily(op)
    setattr(aten, op.key, call)
    TABLE[op.key] = op
    if "." not in shown and not shown.startswith("_"):
        publish(call, shown, flags.intersection(PLACES))
