"""Every public name is in a sample, or in a test that is named here."""

import ast
from pathlib import Path

import pytest

from tidy.runtime.engine.tensor import Tensor
from tidy.runtime.ops.make.table import PUBLIC

from .samples import SAMPLES
from .samples_exact import GROUPS
from .samples_in_place import IN_PLACE
from .samples_plain import PLAIN

HERE = Path(__file__).parent
ELSEWHERE = {
    "test_ops.py": "dropout gumbel_softmax manual_seed normal_ uniform_ exponential_",
    "scripts.py": "backward register_hook retain_grad register_post_accumulate_grad_hook",
    "test_data.py": "pin_memory is_pinned",
    "test_numbers_on_a_device.py": "is_cpu cuda",
    "test_allocator.py": "record_stream",
    "foreach.json": "_foreach_abs _foreach_abs_ _foreach_sign _foreach_sign_ "
    "_foreach_clamp_max _foreach_clamp_max_ _foreach_clamp_min _foreach_clamp_min_",
    "test_fused.py": "_fused_adam_ _fused_adamw_ _fused_sgd_ _fused_adagrad_",
    "test_sparse.py": "array",
    "test_reduced_precision.py": "bfloat16",
}
PYTHON = {
    **{n: f"__{n.lower()}__" for n in "Add Sub Mod Eq Lt Gt Invert".split()},
    "Mult": "__mul__",
    "Div": "__truediv__",
    "FloorDiv": "__floordiv__",
    "Pow": "__pow__",
    "MatMult": "__matmul__",
    "BitXor": "__xor__",
    "BitAnd": "__and__",
    "BitOr": "__or__",
    "LShift": "__lshift__",
    "RShift": "__rshift__",
    "NotEq": "__ne__",
    "LtE": "__le__",
    "GtE": "__ge__",
    "In": "__contains__",
    "USub": "__neg__",
    "UAdd": "__pos__",
    "JoinedStr": "__format__",
    "Starred": "__iter__",
}
CALLS = {"dumps": "__reduce__", "deepcopy": "__deepcopy__", "asarray": "__array__"}
CALLS["sqrt"] = "__array_wrap__"
NOT_OPERATORS = set(
    "__annotations__ __array_priority__ __dict__ __doc__ __init__ __module__ "
    "__slots__ __weakref__ __firstlineno__ __static_attributes__".split()
)


def _used(code):
    """(place, name) of all that an expression uses."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            places = {"torch": "torch", "F": "nn", "torch.linalg": "linalg", "torch.fft": "fft"}
            places["torch.special"] = "special"
            yield places.get(owner, "tensor"), node.attr
            if owner == "operator":
                yield "tensor", f"__{node.attr}__"
            yield "tensor", CALLS.get(node.attr, "")
        elif isinstance(node, ast.BinOp):
            name = PYTHON[type(node.op).__name__]
            yield "tensor", name
            if isinstance(node.left, ast.Constant):
                yield "tensor", name.replace("__", "__r", 1)
        elif isinstance(node, ast.Compare):
            for op in node.ops:
                yield "tensor", PYTHON.get(type(op).__name__, "")
        elif isinstance(node, ast.UnaryOp):
            yield "tensor", PYTHON.get(type(node.op).__name__, "")
        elif isinstance(node, ast.Subscript):
            yield "tensor", "__getitem__"
            if not isinstance(node.slice, (ast.Constant, ast.Slice)):
                yield "tensor", "__index__"
        elif isinstance(node, (ast.JoinedStr, ast.Starred)):
            yield "tensor", PYTHON[type(node).__name__]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield "tensor", f"__{node.func.id}__"


def _public():
    names = {(place, name) for place in PUBLIC if place != "tensor" for name in PUBLIC[place]}
    for name in vars(Tensor):
        if not name.startswith("_") or (name.startswith("__") and name not in NOT_OPERATORS):
            names.add(("tensor", name))
    return names


def _found(place, name):
    return vars(Tensor)[name] if place == "tensor" else PUBLIC[place][name]


def test_every_public_name_is_in_a_sample_or_a_test():
    codes = [s.code for s in (*SAMPLES, *IN_PLACE)] + PLAIN
    codes += [code for group in GROUPS.values() for code in group]
    public = _public()
    used = {each for code in codes for each in _used(code)} & public
    functions = {id(_found(*each)) for each in used}  # under any of its names
    elsewhere = {name for names in ELSEWHERE.values() for name in names.split()}
    missing = {
        each
        for each in public - used
        if id(_found(*each)) not in functions and each[1] not in elsewhere
    }
    assert not missing


@pytest.mark.parametrize("file", ELSEWHERE)
def test_the_tests_named_are_there(file):
    text = "".join(p.read_text(encoding="utf-8") for p in HERE.parent.rglob(file))
    assert [n for n in ELSEWHERE[file].split() if n not in text] == []


HERE_ALONE = {  # public here, and not in PyTorch at that place
    "torch": (
        "absolute_ adaptive_avg_pool2d adaptive_avg_pool3d addcdiv_ addcmul_ avg_pool2d avg_pool3d "
        "bitwise_and_ bitwise_not_ "
        "bitwise_or_ bitwise_xor_ digamma_ erfinv_ floor_divide_ fmod_ index_add_ index_copy_ "
        "index_fill_ lerp_ lgamma_ logical_not_ masked_fill_ mul_ multiply_ pow_ remainder_ "
        "scatter_add_ sgn_ sign_ sum_to_size tril_ triu_ unfold"
    ).split(),
    "nn": ["sigmoid_", "tanh_"],
    "tensor": "array detach_copy view_as_complex view_as_real".split(),
}


@pytest.mark.oracle
def test_public_names_are_pytorchs():
    torch = pytest.importorskip("torch")
    homes = {"torch": torch, "nn": torch.nn.functional, "tensor": torch.Tensor}
    homes |= {"linalg": torch.linalg, "fft": torch.fft, "special": torch.special}
    alone = {(place, name) for place, name in _public() if not hasattr(homes[place], name)}
    assert alone == {(place, name) for place, names in HERE_ALONE.items() for name in names}
