"""Every public name is in a sample, or in a test that is named here."""

import re
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
NAMES = "add sub mul truediv floordiv mod pow matmul xor and or lshift rshift eq ne lt le gt ge"
WRITTEN = "+ - * / // % ** @ ^ & | << >> == != < <= > >="
SIGNS = dict(zip(NAMES.split(), WRITTEN.split(), strict=True))
# What calls a method that is not called by its name.
CALLS = {f"__{name}__": rf" {re.escape(sign)} " for name, sign in SIGNS.items()}
CALLS |= {f"__r{name}__": rf"(^|\W)[\d.]+ {re.escape(sign)} " for name, sign in SIGNS.items()}
CALLS |= {
    "__getitem__": r"\w\[", "__index__": r"\]\[k\[", "__iter__": r"\[\*", "__format__": "f'{",
    "__neg__": r"(^|\W)-[a-z]", "__pos__": r"(^|\W)\+[a-z]", "__invert__": "~",
    "__contains__": " in ", "__reduce__": "dumps", "__deepcopy__": "deepcopy",
    "__array__": "asarray", "__array_wrap__": "sqrt",
}  # fmt: skip
PLACES = {"torch": "torch", "F": "nn", "torch.linalg": "linalg", "torch.fft": "fft"}
NOT_OPERATORS = set(
    "__annotations__ __array_priority__ __dict__ __doc__ __init__ __module__ "
    "__slots__ __weakref__ __firstlineno__ __static_attributes__".split()
)


def _used(code):
    """(place, name) of all that an expression uses."""
    for owner, name in re.findall(r"((?:torch\.)?\w*)\.(\w+)", code):
        yield PLACES.get(owner, "tensor"), f"__{name}__" if owner == "operator" else name
    for name, pattern in CALLS.items():
        if re.search(pattern, code):
            yield "tensor", name
    for name in re.findall(r"(?<![.\w])(\w+)\(", code):
        yield "tensor", f"__{name}__"


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
    homes |= {"linalg": torch.linalg, "fft": torch.fft}
    alone = {(place, name) for place, name in _public() if not hasattr(homes[place], name)}
    assert alone == {(place, name) for place, names in HERE_ALONE.items() for name in names}
