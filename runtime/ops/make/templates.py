"""The shapes of all generated code: templates with named slots, and how they are filled.

A function reads its arguments, computes on arrays, and records a node if a gradient may be asked
for. That of `mul(self, other) = np.multiply(self, other)` is, shortened,

    def mul(input, other):
        if active: return active[0].op(NAME, inner, (input, other,))    FUNCTION
        other_t = other                                                 TWO_OPERANDS
        self, other = input.array, other.array                          ...
        out = wrap(np.multiply(self, other))                            FORWARD
        n0, n1 = late_grad(input), late_grad(other_t)                   needs
        if is_grad_enabled() and (n0 or n1):                            MADE
            node = new(MulBackward0)                                    NEW_NODE
            ...
            node.s_other = (other_t, other_t._counter[0])               save
        return out

`inspect.getsource(torch.mul)` has it in full, once it was called. `inner` is the same function
without the test for observers: they run it.

In a template `{save}` is a slot. A line that ends in `#? view` stands, with what is indented below
it, only where `view` holds of the row; one that ends in `#? not view`, where it does not. What may
hold are the words of the row's header, and those that function_source.py and node_source.py add.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from .rows import Op

# An operator's function: function_source.py fills these.

FUNCTION = """\
def {key}({signature}):
    if out is not None: return into(NAME, out, _itself({again}), {read_by_out}, {strict})   #? out
    if axis is not None: dim = axis                                 #? axis
    if keepdims is not None: keepdim = keepdims                     #? keepdims
    if inplace: return {written}                                    #? inplace
    if reduce is not None or size_average is not None:              #? legacy
        reduction = legacy_reduction(size_average, reduce)          #? legacy
    if {star} is None: {star} = {star}_                             #? starred
    if active: return active[0].op(NAME, inner, ({given}){by_name})
    try: {operands_read}                                        #? tensors_only
    except AttributeError: raise not_tensors(NAME, {operands_given}) from None  #? tensors_only
    self = {first}                                              #? renamed
    return {expression}                                         #? composite
    {IN_PLACE}                                                  #? writes
    {MADE}                                                      #? makes
"""
MADE = """\
{READ}
on_cpu(device)                                                  #? make
{FORWARD}
if pin_memory: pin(out)                                         #? make
if requires_grad: out.requires_grad = True                      #? make
{needs}
outs = [wrap(x) for x in made]                                  #? several
recorded = is_grad_enabled()                                    #? view
counter = out._counter = input._counter                         #? view
if counter is None: return out                                  #? view
out._view = ViewInfo(input, _itself, ({attributes}), recorded)  #? view
out._rg = input._rg                                             #? view
if {recording} and ({any_needed}):                              #? recorded
    array = out.array                                           #? not several
    {NEW_NODE}
    out._node = node                                            #? not several
    out._rg = True                                              #? not several
    for number, out in enumerate(outs):                         #? several
        if out.array.dtype.kind in 'fcV':
            out._node, out._rg, out.output_nr = node, True, number
    {save}
return {returned}
"""
IN_PLACE = """\
{READ}
{needs}
target = input.array                                            #? not promote
if 0 in target.strides{and_sums}: refuse_shared(target)           #? apart
{read_apart}                                                    #? apart
same_kind(NAME, target{others})                                 #? same_kind
recording = ({any_needed}) and target.dtype.kind in 'fcV' and is_grad_enabled()  #? recorded
check_inplace(input, recording)                                 #? recorded
if recording:                                                   #? recorded
    old = input.clone()                                         #? saves_self
    {NEW_NODE}
    {save}
{FORWARD}
bump_version(input)
if recording:                                                   #? recorded
    node.s_result = SavedVariable(input, True)                  #? saves_result
    rebase_history(input, node)
return input
"""
READ = """\
half = None                                                     #? wide
{TWO_OPERANDS}                                                  #? promote
{LIST}                                                          #? on_list
{arrays}
if self.dtype.kind != 'f':                                      #? float
    self = to_float(self)
    other = to_float(np.asarray(other))                         #? promote
{standard}
if {first_array}.itemsize == 2: {widen}                         #? widens
"""
TWO_OPERANDS = """\
other_t = other
try:
    target = self = input.array
    if other.__class__ in SCALARS:
        raise not_tensors(NAME, input, other)                   #? pair
        if self.dtype.char not in 'fd' or other.__class__ is complex:
            {PROMOTE}
    else:
        other = other.array
        if self.dtype is not other.dtype: {PROMOTE}
except AttributeError:
    if input.__class__ in SCALARS: raise not_tensors(NAME, input)   #? first
    return _itself(*as_tensors(NAME, input, other), *({attributes}))
"""
PROMOTE = """\
half, self, other = {promoted}                                    #? wide
self, other = promote(self, other)                              #? not wide
"""
LIST = """\
if isinstance(tensors, Tensor): raise TypeError(NAME + ': expected a tuple')
tensors = list(tensors)
if not tensors:
    kind = ValueError if NAME == 'aten::cat' else RuntimeError
    raise kind(NAME + ': expected a non-empty list of Tensors')
try: self = [x.array for x in tensors]
except AttributeError: raise not_tensors(NAME, *tensors) from None
"""
LIST_NEEDS = """\
needs = [x._rg or (x._view is not None and late_grad(x)) for x in tensors]
n0 = True in needs
"""
FORWARD = """\
try:
    with np.errstate(all='ignore'):                             #? quiet
        {compute}
    {compute}                                                   #? not quiet
    if self.ndim > 3: out.array = laid_first(out.array, self)   #? laid
    {narrow}                                                    #? wide
    {in_order}                                                  #? contiguous
except (ValueError, TypeError, OverflowError) as error:
    raise failed(NAME, error, {operands}) from None
"""
NEW_NODE = """\
node = new({kind})
node.next_edges = {edges}
node.input_metadata = {metadata}
node.hooks = None
node.sequence_nr = thread.sequence_nr
thread.sequence_nr += 1
"""

# The class of its nodes: node_source.py.

NODE = """\
class {title}(OpNode):
    __slots__ = ({slots})
    tensors = {freed}
    def apply(node, grads):
        grad = grads[0]                                         #? not several
        if grad is None: return {nones}                         #? not several
        if not [g for g in grads if g is not None]: return {nones}  #? several
        {pairs} = node.next_edges                               #? many
        wanted = thread.exec_info                               #? many
        if wanted is not None:                                  #? many
            {each_wanted}
        recording = is_grad_enabled()
        if not recording and not active:                        #? on_arrays
            given = grad
            grad = given.array
            {unpack_arrays}
            if grad.itemsize == 2:                              #? wide
                {widen}
            return {gradients_on_arrays}
        {forget}
        {unpack}
        if active and not recording:                            #? as_one
            def run(given, *_): return node.at_once(given{needs})
            return active[0].op('{name}_backward', run, (grad, {saved}))
        if active and not recording:                            #? observed
            return {gradients_without_graph}
        return {gradients}
    def release_variables(node):                                #? frees
        {targets}FREED
    def at_once(node, given{needs}):                            #? as_one
        grad = given.array
        {unpack_arrays}
        if grad.itemsize == 2:                                  #? wide
            {widen}
        return {gradients_on_arrays}
"""

_SLOT = re.compile(r"\{(\w+)\}")
_WIDTH = 80


class Pieces:
    """Pieces of code by name: the slot `{save}` of a template takes what the method `save` gives.

    A slot that has a line to itself takes any number of lines, indented as it is; where there are
    none its line goes. In capitals it takes the template of that name, and without such a method
    the row's attribute. `holds` are the words that hold of the row.
    """

    def __init__(self, op: Op) -> None:
        self.op = op
        self.holds = {*op.flags, *(f"saves_{name}" for name in op.saved)}

    def hold(self, **words: Any) -> None:
        """Add those words whose values are true."""
        self.holds |= {word for word, value in words.items() if value}

    def fill(self, template: str) -> str:
        """Return a template with its slots filled."""
        lines, left_out = list[str](), ""  # the indentation of a line that was left out, and more
        for indent, code, word, wanted in _read(template):
            if left_out and indent.startswith(left_out):
                continue
            left_out = f"{indent} " if word and (word in self.holds) != wanted else ""
            if not left_out:
                filled = _SLOT.sub(self._piece, code) if "{" in code else code
                lines += [indent + inner for inner in filled.splitlines()]
        return "\n".join(lines)

    def _piece(self, slot: re.Match[str]) -> str:
        if slot[1].isupper():
            return self.fill(globals()[slot[1]])
        method = getattr(self, slot[1], None)
        return str(getattr(self.op, slot[1])) if method is None else str(method())


@cache
def _read(template: str) -> list[tuple[str, str, str, bool]]:
    """Each line's indentation, code, the word in its condition, and whether that has to hold."""
    found = []
    for line in template.splitlines():
        code, _, condition = line.partition("#?")
        *no, word = condition.split() or [""]
        found.append((line.removesuffix(line.lstrip()), code.strip(), word, not no))
    return found


def choose(target: str, *cases: tuple[str, str]) -> list[str]:
    """Lines that set `target` to the value of the first case whose test is true.

    The last case needs no test.
    """
    *tested, (_, last) = cases
    if not tested:
        return [f"{target} = {last}"]
    lines = [f"elif {test}: {target} = {value}" for test, value in tested]
    lines += [f"else: {target} = {last}"]
    lines[0] = lines[0].removeprefix("el")
    if max(map(len, lines)) > _WIDTH:
        lines = [part for line in lines for part in line.replace(": ", ":\n    ", 1).split("\n")]
    return lines


def listed(brackets: str, parts: list[str]) -> str:
    """Return a tuple or list, a line for each part where there are several."""
    if len(parts) == 1:
        return f"{brackets[0]}{parts[0]}{',' * (brackets == '()')}{brackets[1]}"
    inner = "".join(f"    {part},\n" for part in parts)
    return f"{brackets[0]}\n{inner}{brackets[1]}"
