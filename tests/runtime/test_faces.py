"""Modules that scripts name beside the operators: what they give, take, refuse, or may not hide."""

import importlib
import subprocess
import sys
import warnings
from operator import attrgetter

import pytest

import tidy.runtime as rt

NAMED = ["torch.onnx.export", "torch.hub.load", "torch.jit.save", "torch.distributed.barrier"]
NAMED += ["torch.utils.data.DistributedSampler", "torch.nn.SyncBatchNorm"]


@pytest.mark.parametrize("name", NAMED)
def test_what_is_not_here_can_be_named_and_says_so_when_called(name):
    with pytest.raises(NotImplementedError, match=name):
        attrgetter(name.removeprefix("torch."))(rt)()


@pytest.mark.parametrize(
    "path", ["nn.utils.parametrizations", "nn.utils.rnn", "optim.lr_scheduler", "nn.modules.conv"]
)
def test_what_is_missing_is_named_by_the_path_that_a_script_has(path):
    module = importlib.import_module(f"tidy.runtime.{path}")
    with pytest.raises(AttributeError, match=f"tidy.runtime.{path}.* 'orthogonal'"):
        _ = module.orthogonal


def test_no_norm_is_made_one_of_several_processes():
    with pytest.raises(NotImplementedError, match="one process"):
        rt.nn.SyncBatchNorm.convert_sync_batchnorm(rt.nn.BatchNorm1d(2))


def test_nothing_is_compiled():
    def step(x):
        return x * 2

    compiler = rt.compiler
    assert compiler.disable(step) is compiler.disable()(step) is compiler.allow_in_graph(step)
    assert not compiler.is_compiling()
    assert not rt.jit.is_scripting()


def test_no_function_is_hidden_by_its_module():
    importlib.import_module("tidy.runtime.autograd.gradcheck")
    assert callable(rt.autograd.gradcheck)


def test_modules_are_found_by_each_way_of_importing_them():
    subprocess.run([sys.executable, "-c", NAMES], check=True)


@pytest.mark.parametrize("name", ["mps", "xpu"])
def test_devices_that_are_never_there(name):
    device = getattr(rt, name)
    assert not device.is_available()
    assert device.device_count() == 0
    device.manual_seed(3)
    with pytest.raises(NotImplementedError):
        device.synchronize()


def test_settings_of_backends_are_modules():
    cudnn = importlib.import_module("tidy.runtime.backends.cudnn")
    assert cudnn is rt.backends.cudnn
    before = cudnn.benchmark
    with cudnn.flags(enabled=False, benchmark=not before):
        assert (cudnn.enabled, cudnn.benchmark) == (False, not before)
    assert (cudnn.enabled, cudnn.benchmark, cudnn.version()) == (True, before, None)
    others = [getattr(rt.backends, name) for name in ("mkl", "openmp", "mkldnn", "mps")]
    assert not any(other.is_available() for other in others)
    assert not isinstance(rt.ones(2), rt.cuda.FloatTensor)
    with pytest.raises(RuntimeError):
        rt.cuda.LongTensor([1])
    with rt.cuda.nvtx.range("forward"), rt.cuda.profiler.profile():
        rt.cuda.nvtx.range_push("inner")
        rt.cuda.nvtx.range_pop()
    assert rt.cuda.nvtx.range("step")(lambda x: x * 2)(3) == 6
    rt.cuda.set_rng_state_all(rt.cuda.get_rng_state_all())


def test_fork_rng_leaves_the_stream_of_numbers_as_it_was():
    rt.manual_seed(3)
    expected = rt.rand(2).tolist()
    rt.manual_seed(3)
    with rt.random.fork_rng():
        assert rt.rand(2).tolist() == expected
        rt.rand(5)
    assert rt.rand(2).tolist() == expected
    with rt.random.fork_rng(enabled=False):
        other = rt.rand(2)
    assert other.tolist() != expected
    try:
        rt.set_default_tensor_type(rt.DoubleTensor)
        assert rt.ones(1).dtype == rt.float64
        rt.set_default_tensor_type("torch.FloatTensor")
        assert rt.ones(1).dtype == rt.float32
    finally:
        rt.set_default_dtype(rt.float32)
    rt.set_default_device("cpu")
    with pytest.raises(NotImplementedError):
        rt.set_default_device("cuda")


def test_multiprocessing_attention_and_tensorboard():
    processes = rt.multiprocessing
    assert processes.cpu_count() > 0
    processes.set_sharing_strategy("file_system")
    assert processes.get_sharing_strategy() == "file_system"
    with pytest.raises(NotImplementedError):
        processes.spawn(print, (), 2)
    attention = importlib.import_module("tidy.runtime.nn.attention")
    q = rt.ones(1, 2, 3, 4)
    plain = rt.nn.functional.scaled_dot_product_attention(q, q, q)
    with attention.sdpa_kernel(attention.SDPBackend.MATH):
        assert rt.equal(rt.nn.functional.scaled_dot_product_attention(q, q, q), plain)
    with pytest.raises(AssertionError):
        attention.sdpa_kernel("math").__enter__()
    board = importlib.import_module("tidy.runtime.utils.tensorboard")
    board._said.clear()
    with pytest.warns(UserWarning, match="writes nothing"), board.SummaryWriter("runs") as writer:
        writer.add_scalar("loss", 0.5, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        writer = board.SummaryWriter()
    writer.add_histogram("weights", rt.ones(3))
    with pytest.raises(AttributeError):
        writer.add_nothing("x")


NAMES = """
import tidy.runtime as torch
import tidy.runtime.utils as below
from tidy.runtime.autograd.gradcheck import GradcheckError
from tidy.runtime.autograd.function import once_differentiable
from tidy.runtime.utils.checkpoint import *
assert below.checkpoint.checkpoint is checkpoint
assert below.data.DataLoader is torch.utils.data.DataLoader
assert below.checkpoint.checkpoint is torch.utils.checkpoint.checkpoint
assert torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=float).requires_grad_())
assert torch.autograd.gradgradcheck.__name__ == "gradgradcheck"
"""
