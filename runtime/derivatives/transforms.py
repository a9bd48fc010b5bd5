"""torch.func: functions made of functions, which give derivatives or take a batch.

Inputs are tensors, or dicts, lists and tuples of them. Each transform can be used in another one.
`vmap` calls the function once for each element of the batch and stacks what it gives.

Source: torch/_functorch/eager_transforms.py, apis.py, vmap.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..core.aten import aten
from ..core.pytree import broadcast_prefix, tree_leaves, tree_like, tree_map
from ..engine.backward import grad as gradients
from ..engine.grad_mode import enable_grad, is_grad_enabled
from ..engine.hooks import check
from ..engine.tensor import Tensor

Function = Callable[..., Any]


def _lifted(x: Any) -> Any:
    """The tensor as an input of its own; still tied to what it was made of, if that learns."""
    told = f"Thing passed to transform API must be Tensor, got {type(x)}"
    check(isinstance(x, Tensor), told, ValueError)
    return x.view_as(x) if x.requires_grad else x.detach().requires_grad_()


def _settled(outside: bool, at: list[Any], *values: Any) -> Any:
    """What was computed, without its graph if that ends in nothing but the inputs `at`."""
    own = {id(x) for x in at}

    def settled(x: Any) -> Any:
        keep = not isinstance(x, Tensor) or (outside and x.requires_grad and _learns(x, own))
        return x if keep else x.detach()

    done = [tree_map(settled, value) for value in values]
    return done[0] if len(done) == 1 else tuple(done)


def _learns(x: Tensor, own: set[int]) -> bool:
    if x.grad_fn is None:
        return id(x) not in own
    todo, seen = [x.grad_fn], set[int]()
    while todo:
        node = todo.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in own:
            return True
        todo += [edge[0] for edge in node.next_functions]
    return False


def product(outputs: list[Any], at: list[Any], vectors: list[Any], graph: bool) -> list[Any]:
    """Return the outputs' gradients times the vectors; zeros for inputs without influence."""
    pairs = [(o, v) for o, v in zip(outputs, vectors, strict=True) if o.requires_grad]
    found: Any = [None] * len(at)
    if pairs and at:
        found = gradients(
            [o for o, _ in pairs], at, [v for _, v in pairs], True, graph, allow_unused=True
        )
    return [aten.zeros_like(x) if g is None else g for x, g in zip(at, found, strict=True)]


def jacobians(output: Tensor, at: list[Any], graph: bool) -> list[Any]:
    """Return the derivatives of all elements by each input, (*output, *input), a row at a time."""
    rows = [product([x], at, [aten.ones_like(x)], graph) for x in output.reshape(-1)]
    shapes = [(*output.shape, *x.shape) for x in at]
    if not rows:
        return [x.new_zeros(shape) for x, shape in zip(at, shapes, strict=True)]
    columns = map(aten.stack, zip(*rows, strict=True))
    return [column.reshape(shape) for column, shape in zip(columns, shapes, strict=True)]


def _chosen(args: tuple[Any, ...], argnums: Any) -> tuple[list[Any], Any, list[int]]:
    """The arguments with inputs of their own at `argnums`, and which those are."""
    which = [argnums] if isinstance(argnums, int) else [*argnums]
    places = [n + len(args) if n < 0 else n for n in which]
    for n, place in zip(which, places, strict=True):
        check(0 <= place < len(args), f"Got argnum={n}, but only {len(args)} inputs")
    new = [tree_map(_lifted, x) if n in places else x for n, x in enumerate(args)]
    return new, tuple(new[n] for n in places), places


def _with_aux(result: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    pair = isinstance(result, tuple) and len(result) == 2
    check(pair, "with has_aux the function should return (output, aux)")
    return result


def _like_argnums(argnums: Any, values: tuple[Any, ...]) -> Any:
    return values[0] if isinstance(argnums, int) else values


def grad_and_value(func: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    """Return a function that gives the gradient of `func`, and the number that it gives."""

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outside = is_grad_enabled()
        with enable_grad():
            new, inputs, _ = _chosen(args, argnums)
            output, aux = _with_aux(func(*new, **kwargs), has_aux)
            number = isinstance(output, Tensor) and output.dim() == 0
            check(number, "Expected the function to return a tensor without dimensions")
            at = tree_leaves(inputs)
            found = tree_like(inputs, product([output], at, [aten.ones_like(output)], True))
        found, output, aux = _settled(outside, at, found, output, aux)
        found = _like_argnums(argnums, found)
        return (found, (output, aux)) if has_aux else (found, output)

    return wrapper


def grad(func: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    """Return a function that gives the gradient of `func`, which gives one number."""
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return wrapper


def jacrev(func: Function, argnums: Any = 0, *, has_aux: bool = False, **_: Any) -> Function:
    """Return a function that gives the Jacobian, a row at a time: of shape (*output, *input)."""

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outside = is_grad_enabled()
        with enable_grad():
            new, inputs, _ = _chosen(args, argnums)
            output, aux = _with_aux(func(*new, **kwargs), has_aux)
            at, found = tree_leaves(inputs), list[Any]()
            for out in tree_leaves(output):
                check(isinstance(out, Tensor), "jacrev: Expected the function to return tensors")
                columns = jacobians(out, at, True)
                found.append(_like_argnums(argnums, tree_like(inputs, columns)))
        done, aux = _settled(outside, at, tree_like(output, found), aux)
        return (done, aux) if has_aux else done

    return wrapper


def hessian(func: Function, argnums: Any = 0) -> Function:
    """Return a function that gives the second derivatives of `func`."""
    return jacrev(jacrev(func, argnums), argnums)


def vmap(
    func: Function, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", **_: Any
) -> Function:
    """Return a function of a batch: `func` of each element, and the results stacked.

    Whatever `randomness` is, each element draws numbers of its own.
    """
    known = randomness in ("error", "different", "same")
    check(known, f"vmap: randomness should be error, different or same, not {randomness!r}")

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves = tree_leaves(args)
        dims = broadcast_prefix(in_dims, args if isinstance(in_dims, tuple) else [*args])
        fits = isinstance(in_dims, (int, tuple)) and dims is not None
        check(fits, f"vmap: in_dims={in_dims} does not fit the inputs", ValueError)
        pairs = [*zip(leaves, dims or (), strict=True)]
        sizes = {_batch_of(x, dim) for x, dim in pairs if dim is not None}
        told = f"vmap: inputs have batches of different sizes: {sorted(sizes)}"
        check(len(sizes) < 2, told, ValueError)
        check(len(sizes) > 0, "vmap: Expected at least one Tensor to vmap over", ValueError)
        size, results = sizes.pop(), list[Any]()
        if not size:  # what the function would give of an element that is not there
            pairs = [(x if dim is None else _one_zero(x, dim), dim) for x, dim in pairs]
        for n in range(size or 1):
            one = [x if dim is None else x.select(dim, n) for x, dim in pairs]
            results.append(func(*tree_like(args, one), **kwargs))
        return _stacked(results, out_dims, size)

    return wrapper


def _batch_of(x: Any, dim: int) -> int:
    told = f"vmap: an input with in_dim={dim} is a {type(x).__name__}, not a tensor"
    check(isinstance(x, Tensor), told, ValueError)
    inside = x.dim() and -x.dim() <= dim < x.dim()
    check(inside, f"vmap: in_dim={dim} is outside of a tensor of {x.dim()}", ValueError)
    return int(x.shape[dim])


def _one_zero(x: Tensor, dim: int) -> Tensor:
    shape = [*x.shape]
    shape[dim] = 1
    return x.new_zeros(shape)


def _stacked(results: list[Any], out_dims: Any, size: int) -> Any:
    dims = broadcast_prefix(out_dims, results[0])
    if dims is None and isinstance(out_dims, tuple) and len(out_dims) == 1:
        dims = broadcast_prefix(out_dims[0], results[0])
    check(dims is not None, f"vmap: out_dims={out_dims} does not fit the outputs", ValueError)
    made = list[Any]()
    for dim, *each in zip(dims or (), *map(tree_leaves, results), strict=True):
        tensors = all(isinstance(x, Tensor) for x in each)
        check(tensors, f"vmap: the function should return tensors, not {type(each[0])}", ValueError)
        whole = each[0] if dim is None else aten.stack(each, dim)
        made.append(whole if size or dim is None else whole.narrow(dim, 0, 0))
    return tree_like(results[0], made)
