"""Training on a device computes what it computes on the CPU, bit for bit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch
from tidy.runtime import cuda
from tidy.runtime.utils.checkpoint import checkpoint

from ..runtime.answers import identical
from ..runtime.questions_optim import CASES, FUSED, numbers
from ..runtime.scripts_of_functions import function_of
from ..runtime.tables import calls
from .hazards import hazards
from .recording import kernels, number_of, place_of, recording, slow
from .test_numbers_on_a_device import On

pytestmark = pytest.mark.usefixtures("two_t4")
nn, F = torch.nn, torch.nn.functional


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (name, {**options, **how})
        for name in CASES
        for options in CASES[name][-2:]
        for how in ({"foreach": False}, {"foreach": True}, {"fused": True})
        if "fused" not in how or name in FUSED
    ],
    ids=str,
)
def test_optimizers(name: str, options: dict[str, Any]) -> None:
    """Parameters and states are those of the CPU; states lie where their parameters do."""
    (params, states), wanted = (numbers(each, name, options) for each in (On("cuda:1"), torch))
    identical([params, states], wanted)
    for parameter, state in zip(params, states, strict=True):
        assert parameter.device == torch.device("cuda:1")
        for key, value in state:
            if isinstance(value, torch.Tensor) and key not in _ON_THE_HOST:
                assert value.device == parameter.device


_ON_THE_HOST = {"step", "mu_product"}  # numbers, of which each step computes with others


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(reentrant: bool) -> None:
    """Values are the same, and less memory is kept."""

    def run(device: str, checkpoints: bool) -> tuple[list[Any], int]:
        torch.manual_seed(0)
        layers = nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3)
        model = nn.Sequential(*layers).to(device)
        x = torch.ones(512, 6, device=device, requires_grad=True)
        before = cuda.memory_allocated()
        out = checkpoint(model, x, use_reentrant=reentrant) if checkpoints else model(x)
        kept = cuda.memory_allocated() - before
        out.square().sum().backward()
        return [p.grad.numpy(force=True) for p in (x, *model.parameters())], kept

    expected, _ = run("cpu", True)
    found, kept = run("cuda", True)
    plain, more = run("cuda", False)
    identical(found, expected)
    identical(plain, expected)
    assert kept < more / 2


def _at_the_end(x: Any, y: Any, note: Callable[..., None]) -> None:
    queue = torch.autograd.Variable._execution_engine.queue_callback
    x.register_hook(lambda _: queue(note))


# How a hook that notes its stream is registered, on a leaf or a product made on a side stream.
HOOKS: dict[str, Callable[[Any, Any, Callable[..., None]], Any]] = {
    "of a tensor": lambda _, y, note: y.register_hook(note),
    "of a node": lambda _, y, note: y.grad_fn.register_hook(note),
    "before a node": lambda _, y, note: y.grad_fn.register_prehook(note),
    "behind a leaf": lambda x, _, note: x.register_post_accumulate_grad_hook(note),
    "at the end": _at_the_end,
}


class TestHooks:
    @pytest.mark.parametrize("leaf_is_older", [False, True])
    @pytest.mark.parametrize("name", HOOKS)
    def test_streams(self, name: str, leaf_is_older: bool) -> None:
        """That of the node; of a leaf the one that was current when it was first used.

        A callback at the end has the caller's.
        """
        side, x, seen = cuda.Stream(), slow().requires_grad_(), list[Any]()

        def note(*_: Any) -> None:
            seen.append(cuda.current_stream())
            if x.grad is not None:
                x.grad.mul_(2)

        used = x.view(-1) if leaf_is_older else None
        side.wait_stream(cuda.current_stream())
        with recording() as log:
            with cuda.stream(side):
                y = x @ slow()
                HOOKS[name](x, y, note)
                out = y.sum()
            cuda.current_stream().wait_stream(side)
            out.backward()
            x.grad + 1
        of_caller = name == "at the end" or (name == "behind a leaf" and leaf_is_older)
        assert seen == [cuda.default_stream() if of_caller else side]
        assert hazards(log.work) == []
        del used

    def test_to_memory_of_the_host(self) -> None:
        """A hook that keeps gradients on the host leaves them there."""
        host, x = torch.zeros(3), torch.ones(3, device="cuda", requires_grad=True)

        def hook(grad: Any) -> None:
            host.copy_(grad)

        (x * 2).register_hook(lambda _: None)
        y = x * 2
        y.register_hook(hook)
        (y * 3).sum().backward()
        assert (host.device, host.tolist()) == (torch.device("cpu"), [3, 3, 3])


VIEWS = calls("""
x[1:3]; x[0]; x[:, ::2]; x.diagonal(); x.chunk(2)[1]; x.unbind()[2]; x.t()[1:]; x.unfold(0, 2, 1)
x.expand(2, 4, 4); written(x)
""")


def _written(x: Any) -> Any:
    """What was made of `x`, after it was written to by several views."""
    y = x * 2
    y[0].mul_(3)
    y[1:3] += x[1:3]
    y[3] = x[0].sin()
    return y


class TestBackwardOfViews:
    @pytest.mark.parametrize("view", VIEWS)
    def test_stays_on_the_device(self, view: str) -> None:
        """No copy between host and device, and nobody waits."""
        x = torch.ones(4, 4, device="cuda", requires_grad=True)
        out = eval(view, {"x": x, "written": _written})  # noqa: S307
        ones = torch.ones_like(out)
        with recording() as log:
            out.backward(ones)
        assert [w.name for w in log.work if w.kind in ("gpu_memcpy", "cuda_sync")] == []
        assert x.grad.is_cuda
        y = torch.ones(4, 4, requires_grad=True)
        eval(view, {"x": y, "written": _written}).sum().backward()  # noqa: S307
        np.testing.assert_array_equal(x.grad.numpy(force=True), y.grad.numpy())


class TestWrongDevice:
    def test_of_a_gradient_that_is_given(self) -> None:
        x = torch.ones(3, device="cuda", requires_grad=True)
        with pytest.raises(RuntimeError, match="expected device cuda:0 but got cpu"):
            (x * 2).backward(torch.ones(3))
        (x * 2).sum().backward(torch.tensor(3.0))
        assert x.grad.tolist() == [6, 6, 6]

    def test_of_a_gradient_that_a_function_returns(self) -> None:
        wrong = function_of(torch, lambda _, x: x * 2, lambda _, grad: grad.to("cuda:1"))
        x = torch.ones(3, device="cuda", requires_grad=True)
        said = (
            "Function MadeBackward returned an invalid gradient at index 0 - "
            "expected device cuda:0 but got cuda:1"
        )
        with pytest.raises(RuntimeError, match=said):
            wrong.apply(x * 1).sum().backward()
        (x * 2).sum().backward()
        assert x.grad.tolist() == [2, 2, 2]


def test_threads_have_streams_of_their_own() -> None:
    """Each trains on its own stream of its own device; both logs are in one."""
    results: dict[int, Any] = {}

    def work(index: int) -> None:
        cuda.set_device(index)
        with cuda.stream(cuda.Stream()):
            x = torch.full((32, 32), 0.5, device="cuda", requires_grad=True)
            for _ in range(5):
                (x @ x).sin().sum().backward()
            results[index] = x.grad.numpy(force=True), cuda.current_stream(), number_of(x)

    with recording() as log:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    np.testing.assert_array_equal(results[0][0], results[1][0])
    for index in range(2):
        stream = results[index][1]
        mine = [w for w in kernels(log) if w.device == index]
        assert {place_of(w) for w in mine} == {(index, stream.number)}
    assert hazards(w for w in log.work if w.device == 0) == []
    assert cuda.current_device() == 0


@pytest.mark.parametrize("name", ["Adam", "Adamax", "ASGD"])
def test_capturable_is_refused(name: str) -> None:
    params = [torch.ones(1, device="cuda", requires_grad=True)]
    with pytest.raises(RuntimeError, match="capturable"):
        getattr(torch.optim, name)(params, capturable=True)


def _step(params: list[Any], foreach: bool | None) -> None:
    torch.optim.SGD(params, lr=0.1, foreach=foreach).step()


def _clip(params: list[Any], foreach: bool | None) -> None:
    total = nn.utils.clip_grad_norm_(params, 0.1, foreach=foreach)
    assert total.device == params[0].device
    nn.utils.clip_grad_value_(params, 0.02, foreach=foreach)


@pytest.mark.parametrize("work", [_step, _clip])
def test_lists_are_few_launches(work: Callable[[list[Any], bool | None], None]) -> None:
    """Of the same numbers, which are those of the CPU."""

    def run(device: str, foreach: bool | None) -> tuple[int, list[Any]]:
        params = [torch.full((8,), n / 9, device=device).requires_grad_() for n in range(20)]
        for p in params:
            p.grad = p.detach() * 2
        with recording() as log:
            work(params, foreach)
        return len(kernels(log)), [t.numpy(force=True) for p in params for t in (p, p.grad)]

    by_default, together, apart = (run("cuda", foreach) for foreach in (None, True, False))
    assert by_default[0] == together[0] < 20 <= apart[0]
    identical(together[1], run("cpu", True)[1])
    identical(apart[1], run("cpu", False)[1])
