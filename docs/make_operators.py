"""Write docs/runtime.md from the table of operators; with `--check` only compare."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("runtime.md")
sys.path.insert(0, str(PAGE.parents[1]))

INTRODUCTION = """\
# tidy.runtime

<!-- Written by docs/make_operators.py; change the table or that, and run `make docs`. -->

A define-by-run autograd engine in Python on numpy, with PyTorch's names and behaviour. It records
the graph of what runs, differentiates it to any order, and needs no PyTorch:

```python
import tidy.runtime as torch

x = torch.randn(3, requires_grad=True)
loss = (x.sin() ** 2).sum()
loss.backward()
x.grad
```

A plain training script runs with that one import in place of `import torch`. There are `torch.nn`
and `torch.nn.functional`, `torch.optim`, `torch.utils.data` and `torch.utils.checkpoint`,
`torch.autograd`, `torch.func`, `torch.distributions`, `torch.linalg`, `torch.fft`,
`torch.amp`, `torch.save` and `torch.load`; what is missing `tidy run` names before a script trains.
Hooks, views and their version counters, in-place operators, anomaly mode, `no_grad` and
`inference_mode` are as in PyTorch. `torch.add_callback` shows every operator as it runs.

## What differs from PyTorch

- **Random numbers.** A seed gives the same numbers again, but not PyTorch's.
- **Devices.** There is the CPU, and a modelled CUDA device where one is asked for (`tidy run
  --device a100`, `TIDY_DEVICE`, `torch.cuda.configure`), of which
  [modelled-device.md](modelled-device.md) tells. Without it `.to("cuda")` and `.cuda()`
  raise a RuntimeError.
- **dtypes are numpy's**: `torch.float32` is `numpy.dtype("float32")`. numpy has no
  complex32: complex64 is in its place. `torch.amp` has bfloat16 where `ml_dtypes` is installed.
- **Sparse tensors** are gradients of embeddings (`sparse=True`), or matrices in COO form, for
  products with dense ones (`torch.sparse.mm`, `@`) whose gradients reach both. Other operators
  refuse them.
- **More dtypes.** Where PyTorch has no kernel for a dtype on the CPU (say `mse_loss` of integers),
  numpy mostly computes it. Comparisons and extremes of complex numbers follow numpy's order.
  Operands of different dtypes promote in losses and normalizations too.
- **More names.** In-place forms such as `torch.mul_` are functions as well as methods.
- **`floor_divide` and `detach_copy`** have derivatives (zero) where PyTorch has none; `asinh_`,
  `acosh_` and `atanh_` have theirs. So has attention its second ones, which PyTorch refuses where
  its own operator computes it (`_scaled_dot_product_flash_attention_for_cpu`).
- **What is recorded**: in-place dropout and ReLU have the names of the forms that are not in place
  (`aten::dropout`, `aten::relu`), `Dropout2d` is `aten::dropout2d` rather than
  `aten::feature_dropout`, and `LSTM(bias=False)` lacks the zeros that PyTorch makes of its biases.
  A GRU whose forward nobody observed has one node for each layer.
- **Errors** are of PyTorch's classes; their words are often others.
- **Not supported**, with a NotImplementedError: `grid_sample` with `bicubic`, `interpolate` with
  `antialias`, `embedding_bag` with `mode="max"`, `einsum` of lists, a `strict` Jacobian, a second
  parametrization of a tensor, `add_bias_kv` and `add_zero_attn` of attention, gradients of
  `_foreach_*`, of full-size `svd` and `qr`, and of samples of Gamma, Beta and Dirichlet by their
  concentration. Optimizers refuse `differentiable`, and on devices `capturable`.
- **`torch.func`**: `vmap` calls the function for each element of the batch; random numbers in it
  are drawn for each. Beside it there are `grad`, `grad_and_value`, `jacrev`, `hessian` and
  `functional_call`, and no forward mode.
- **`torch.distributions`** has Normal, Categorical, Bernoulli, Uniform, Beta, Gamma, Dirichlet,
  Laplace, MultivariateNormal, Independent, MixtureSameFamily and their divergences.
- **Not there**: `nn.utils.prune`, lazy layers, adaptive softmax, `torch.special`, CUDA graphs, and
  what else few training scripts name. Of these `tidy run` names what it reads in the source as a
  name of `torch`, before a script trains. It does not see keywords, nor methods of tensors that a
  call returns: these fail when they are reached.
- **`torch.distributed`** cannot be initialised, with a world of one neither. It can be asked
  whether it is there (it says no); all else is refused when it is called, as are
  DistributedDataParallel, SyncBatchNorm, `DistributedSampler`, `torch.onnx` and `torch.hub`.
  `nn.parallel.data_parallel` is not there. `torch.utils.tensorboard` writes nothing, with a note.
- **`torch.compile` and `torch.jit.script`** give back what they are given, with a note.
- **`torch.save`** writes files of its own kind; PyTorch's are not read, nor its own by PyTorch.

tests/runtime compares all of it with PyTorch: samples.py has the samples of operators,
dtype_deviations.py and wrong_calls.py what ends otherwise there, with the reasons. corpus/ has
whole training scripts (GANs, transformers, reinforcement learning, graph networks), whose losses
over 50 steps are PyTorch's: within 1e-6 in float64, and 1e-4 in float32.

## A new operator

It takes one row. That of `sinc`, for instance, stands in `runtime/ops/special.py`, under a
header that says where it is public and what holds for it; `runtime/ops/make/declare.py` explains
the notation with three examples:

```
[torch tensor float wide quiet in_place]
sinc(self) = np.sinc(self)
    self: grad * conj(where(self == 0, 0, (cos(self * 3.141592653589793) - result) / self))
```

It makes `torch.sinc`, `Tensor.sinc` and `Tensor.sinc_`, with a derivative of any order, type
promotion of integers, and an event `aten::sinc` for profilers. Then

1. a sample in `tests/runtime/samples.py` has it compared with PyTorch and with differences (the
   tests fail for an operator without one),
2. `make docs` writes its line below.

Call the operator once to see the generated code: `inspect.getsource(torch.sinc)`, or
`break torch.sinc` in pdb. In a traceback it is the file `<operator aten::sinc>`.
[Why code is generated](decisions/code-generation.md) has the reasons.

## Operators

From the table that the operators are made of (runtime/ops/make/declare.py tells how it is
written), by source file. The forward is an expression on arrays, or after `:=` on tensors.
Derivatives: the formula for each input, made of operators, where `grad` is the gradient of the
result. The last column says where an operator is public: `torch` (function), `tensor` (method),
`nn` (`torch.nn.functional`), `linalg`, `fft`; others are parts of these.
"""

# What functions give that have no docstring, as they are expressions.
WORDS = {
    "numel": "Return the number of elements.",
    "is_floating_point": "Tell whether the dtype is one of floats.",
    "is_complex": "Tell whether the dtype is one of complex numbers.",
    "is_signed": "Tell whether the dtype has negative numbers.",
    "is_same_size": "Tell whether both have the same shape.",
    "is_nonzero": "Tell whether the only element is not zero.",
    "is_inference": "Tell whether it was made in inference mode.",
    "resize_as_": "Take the shape of another.",
    "nan_to_num_": "Replace what is not finite, in place.",
    "manual_seed": "Begin the random numbers anew from a seed.",
    "to_dense": "Return the same matrix with its zeros.",
}


def code(text: str) -> str:
    """As code in a cell of a table."""
    text = " ".join(text.split()).replace("|", "\\|")
    return f"`{text}`" if text else ""


def signature(op: Any) -> str:
    """A row's signature, as it is written there."""
    shown, keyword = [], False
    for p in op.params:
        if p.keyword and not keyword:
            shown.append("*")
        keyword = keyword or p.keyword
        kind = f": {p.kind}" if p.kind else ""
        default = "" if p.default is None else f" = {p.default}"
        shown.append(f"{p.star}{p.name}{kind}{default}")
    return f"{op.base}({', '.join(shown)})"


def rows(table: dict[str, Any], places: dict[int, str], module: str) -> Iterator[str]:
    """The operators of one module that are rows of the table."""
    for known, op in table.items():
        if op.space["__name__"] != module or op.in_place:
            continue
        op.parse()
        forward = f":= {op.expression}" if op.is_composite else op.expression
        formulas = "; ".join(f"{name}: {each[0]}" for name, each in op.formulas.items())
        writes = f"{op.base}_" if op.flags & {"in_place", "only_in_place"} else ""
        cells = (signature(op), op.name, forward, formulas, writes)
        shown = places.get(known, "")
        yield f"| {' | '.join(code(c) for c in cells)} | {shown} |"


def home(call: Any) -> str:
    """The module that defines what is public under another's name."""
    function = inspect.unwrap(call)
    return str(getattr(function, "__globals__", {}).get("__name__", function.__module__))


def functions(public: dict[str, dict[str, Any]], module: str) -> Iterator[str]:
    """What is public of one module and written in Python."""
    places: dict[tuple[str, Callable[..., Any]], list[str]] = {}
    for place, calls in public.items():
        for name, call in calls.items():
            if not hasattr(call, "op"):
                places.setdefault((name, call), []).append(place)
    for (name, call), where in places.items():
        function, seen = inspect.unwrap(call), getattr(call, "seen", "")
        if home(call) != module:
            continue
        plain = inspect.signature(function)
        bare = [p.replace(annotation=p.empty) for p in plain.parameters.values()]
        given = plain.replace(parameters=bare, return_annotation=plain.empty)
        words = inspect.getdoc(call) or WORDS.get(name, "")
        words = words.partition("\n\n")[0].replace("\n", " ")
        shown = f"{code(f'{name}{given}')} | {code(seen)} | {words.replace('|', chr(92) + '|')}"
        yield f"| {shown} | {' '.join(where)} |"


def page() -> str:
    """The page's text."""
    from tidy.runtime.ops.make.table import PUBLIC, TABLE

    modules = dict.fromkeys(op.space["__name__"] for op in TABLE.values())
    modules |= dict.fromkeys(
        home(call)
        for place in PUBLIC.values()
        for call in place.values()
        if not hasattr(call, "op")
    )
    places: dict[str, str] = {}
    known = {id(op): name for name, op in TABLE.items()}
    for place, calls in PUBLIC.items():
        for call in dict.fromkeys(calls.values()):
            name = known.get(id(getattr(call, "op", None)))
            if name is not None:
                base = name[:-1] if TABLE[name].in_place else name
                if place not in places.get(base, "").split():
                    places[base] = f"{places.get(base, '')} {place}".strip()
    parts = [INTRODUCTION]
    for module in sorted(modules):
        title = (sys.modules[module].__doc__ or "").strip().partition("\n\n")[0]
        title = " ".join(title.split()).partition(" Source:")[0]
        parts.append(f"\n### {module.rpartition('.')[2]}\n\n{title}\n")
        lines = list(rows(TABLE, places, module))
        if lines:
            head = "Operator | ATen | Forward | Derivatives | In place | Public"
            parts.append("\n".join(["", f"| {head} |", "|" + "---|" * 6, *lines, ""]))
        lines = list(functions(PUBLIC, module))
        if lines:
            head = "Function | ATen | What it gives | Public"
            parts.append("\n".join(["", f"| {head} |", "|" + "---|" * 4, *lines, ""]))
    return "".join(parts)


def main() -> int:
    """Write or compare; 1 where the page is out of date."""
    text = page()
    if sys.argv[1:] == ["--check"]:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        sys.stderr.write("docs/runtime.md is out of date: run `make docs`\n")
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
