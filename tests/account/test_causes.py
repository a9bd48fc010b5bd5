"""What the host does while a device idles is told by fixed words, and what computes is too."""

from __future__ import annotations

import pytest

from tidy.account import Account, make_accounts
from tidy.trace.outline import parse_outline

from ..conftest import ReadEvents
from ..trace.kineto import call, op, span

_HEAD = "# device 0 NVIDIA A100 8.0\nProfilerStep#1\n"


def _launch(op: str = "aten::add", kernel: str = "elementwise_kernel") -> str:
    return f"  {op}\n    cudaLaunchKernel\n      => {kernel} 2us\n"


def _account(text: str) -> Account:
    (account,) = make_accounts(parse_outline(text))
    return account


def _idle_for(between: str) -> dict[str, int]:
    """Nanoseconds of idle time by cause where this stands between two launches."""
    lines = "".join(f"  {line}\n" for line in between.splitlines())
    account = _account(_HEAD + _launch() + lines + _launch())
    return {part.cause: part.time_ns for part in account.parts if part.part == "idle"}


@pytest.mark.parametrize(
    ("between", "cause"),
    [
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 900us", "data-loading"),
        ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 900us", "data-loading"),
        ("cudaDeviceSynchronize 900us", "device-wait"),
        ("aten::view 40us\naten::expand 40us\naten::t 40us\naten::view 40us", "launching"),
        ("train.py(3): busy 900us", "python"),
        ("Optimizer.step#SGD.step 900us", "optimizer-host"),
        ("train.py(7): log_hook 900us", "hook-host"),
        ("FSDP::post_backward (layers.0) 900us", "hook-host"),
        ("FullyShardedDataParallel._pre_forward 900us", "hook-host"),
        ("torch/nn/modules/module.py(9): _call_impl\n  train.py(7): seen 900us", "hook-host"),
        ("torch/nn/modules/module.py(9): inner\n  train.py(7): seen 900us", "hook-host"),
        (
            "autograd::engine::evaluate_function: MulBackward0\n  train.py(7): seen 900us",
            "hook-host",
        ),
        ("aten::empty\n  cudaMalloc 900us", "allocator"),
        ("aten::mm\n  cuModuleLoadData 900us", "first-calls"),
        ("Python GC 900us", "garbage-collection"),
        ("aten::sort 900us", "cpu-op"),
        ("PIL/Image.py(7): resize 900us", "cpu-op"),
        ("train.py(9): tokenize\n  <built-in function zip> 900us", "cpu-op"),
        ("transformers/image_processing_utils.py(9): scaled 900us", "cpu-op"),
        ("<built-in method wait of pybind11_builtins.pybind11_object 900us", "other-process"),
        ("subprocess.py(9): wait 900us", "other-process"),
        ("multiprocessing/connection.py(9): _poll 900us", "other-process"),
        ("concurrent/futures/_base.py(9): result 900us", "other-process"),
        ("<built-in function waitpid> 900us", "other-process"),
        ("<built-in function system> 900us", "other-process"),
        ("torch/distributed/distributed_c10d.py(9): barrier 900us", "other-process"),
        ("/lib/torch/utils/data/dataloader.py(9): __next__ 900us", "data-loading"),
        ("enumerate(DataPipe)#Shuffler 900us", "data-loading"),
        ("/lib/torch/nn/utils/clip_grad.py(9): clip_grad_norm_ 900us", "optimizer-host"),
        ("/lib/torch/_inductor/compile_fx.py(9): compile_fx 900us", "first-calls"),
        ("/lib/torch/_dynamo/convert_frame.py(9): _compile 900us", "first-calls"),
        ("/lib/triton/compiler/compiler.py(9): make_ir 900us", "first-calls"),
        ("torch/_inductor/compile_fx.py(9): compile_fx 900us", "first-calls"),
        ("torch/_inductor/compile_fx.py(9): run 900us", "python"),
        ("/lib/torch/_inductor/compile_fx.py(9): wrapper 900us", "python"),
        ("/lib/triton/runtime/autotuner.py(9): _bench 900us", "first-calls"),
        ("/lib/triton/runtime/autotuner.py(9): run 900us", "python"),
        ("/lib/triton/compiler/compiler.py(9): launch_metadata 900us", "python"),
        ("_compile.compile_inner (dynamo_timed) 900us", "first-calls"),
        ("inductor_compile_timed 900us", "first-calls"),
        ("gc_collect 900us", "garbage-collection"),
        ("<built-in function collect> 900us", "garbage-collection"),
        ("GC generation 2 900us", "garbage-collection"),
        ("CV2/core.py(9): resize 900us", "cpu-op"),
        ("av/frame.py(9): to_image 900us", "cpu-op"),
        ("imageio/core.py(9): imread 900us", "cpu-op"),
        ("skimage/transform.py(9): warp 900us", "cpu-op"),
        ("librosa/core.py(9): load 900us", "cpu-op"),
        ("soundfile/read.py(9): read 900us", "cpu-op"),
        ("torchaudio/functional.py(9): resample 900us", "cpu-op"),
        ("albumentations/core.py(9): apply 900us", "cpu-op"),
        ("torchvision/transforms/functional.py(9): resize 900us", "cpu-op"),
        ("tokenizers/implementations.py(9): encode 900us", "cpu-op"),
        ("sentencepiece/__init__.py(9): Encode 900us", "cpu-op"),
        ("tiktoken/core.py(9): encode 900us", "cpu-op"),
        ("decord/video_reader.py(9): get_batch 900us", "cpu-op"),
        ("train.py(9): __pre_process_all 900us", "cpu-op"),
        ("train.py(9): tokenise 900us", "cpu-op"),
        ("train.py(9): read_image 900us", "cpu-op"),
        ("train.py(9): _decode_jpeg 900us", "cpu-op"),
        ("train.py(9): decode_video 900us", "cpu-op"),
        ("<built-in method resize of ImagingCore object> 900us", "cpu-op"),
        ("<built-in method decode of av.codec> 900us", "cpu-op"),
        ("<built-in method encode of tokenizers.Tokenizer object> 900us", "cpu-op"),
        ("<built-in method encode of MyTokenizer object> 900us", "cpu-op"),
    ],
)
def test_why_a_device_idles(between: str, cause: str) -> None:
    times = _idle_for(between)
    assert max(times, key=times.__getitem__) == cause


@pytest.mark.parametrize(
    ("kernel", "cause"), [("gemm", "first-calls"), ("elementwise_kernel", "launching")]
)
def test_a_long_launch_is_a_first_call_where_its_kernel_is_new(kernel: str, cause: str) -> None:
    assert _idle_for(f"aten::mm\n  cudaLaunchKernel 3000us\n    => {kernel} 2us")[cause] >= 3e6


def test_what_is_not_counted_has_parts_where_it_is_much() -> None:
    loading = "data/dataloader.py(9): __next__"
    account = _account(
        f"# device 0 NVIDIA A100 8.0\ntrain.py(7): run\n  torch/utils/{loading} 900us\n" + _launch()
    )
    assert [part.cause for part in account.not_counted][:1] == ["data-loading"]
    assert not _account(_HEAD + _launch()).not_counted


@pytest.mark.parametrize(
    "between",
    [
        "torch/utils/checkpoint.py(9): unpack_hook 900us",
        "torch/nn/modules/module.py(9): _call_impl\n  train.py(7): forward 900us",
        "torch/nn/modules/module.py(9): _call_impl\n"
        "  train.py(7): wrapped 900us\n    train.py(8): forward 800us",
        "torch/nn/modules/module.py(9): register_forward_hook 900us",
        "MyFunctionBackward0\n  train.py(7): backward 900us",
    ],
)
def test_what_is_no_hook(between: str) -> None:
    assert "hook-host" not in _idle_for(between)


def test_preprocessing_that_launches_is_preprocessing_between_its_launches() -> None:
    """What a function named so launches takes no longer to launch than elsewhere."""
    times = _idle_for("train.py(9): preprocess\n  aten::mul\n    cudaLaunchKernel 40us")
    assert times["launching"] >= 40_000


@pytest.mark.parametrize(
    ("recording", "kind"),
    [
        ("frame\n  {0}\n    {1}\n  physics 900us\n  {0}\n    {1}", "in ranges"),
        ("{0}\n  {1}\n[memory] 900us 8B\n{0}\n  {1}", "outside ranges"),
    ],
)
def test_without_operators_and_stacks_nothing_says_that_it_is_python(
    recording: str, kind: str
) -> None:
    launched = recording.format("cudaLaunchKernel", "=> gemm 2us")
    account = _account(f"# device 0 NVIDIA A100 8.0\n{launched}")
    parts = {part.cause: part for part in account.parts}
    assert parts["host-code"].kinds[0][0] == kind
    assert parts["host-code"].time_ns >= 900_000
    assert "python" not in parts


def test_in_a_cpu_run_it_is_the_profiler_that_synchronises(read_events: ReadEvents) -> None:
    events = [op("aten::mm", 0, 50), call("cudaDeviceSynchronize", 60, 900, 1)]
    buffers = span("overhead", "Activity Buffer Request", 10, 20)
    (account,) = make_accounts(read_events([*events, buffers]))
    times = {part.cause: part.time_ns // 1000 for part in account.parts}
    assert times == {"recording": 900 + 20, "matmul": 30, "python": 10}


def _waits_us(does: str) -> dict[str, int]:
    """By name the collectives waited for, if this takes until 1010 us and Gloo until 700."""
    gloo = "thread 2\nc10d::allreduce_ 100us\ngloo:all_reduce 599us\n"
    account = _account(f"train 1010us\n  aten::mm 9us\n{does}\n{gloo}")
    times = (part for part in account.parts if part.cause == "other-process")
    return {part.mostly_in: part.time_ns // 1000 for part in times}


@pytest.mark.parametrize(
    "waits",
    [
        "",  # without stacks
        "  <built-in method run_backward of torch._C._EngineBase object at 0x1> 990us",
        "  torch/distributed/distributed_c10d.py(9): wait 990us",
        "  torch/_tensor.py(9): backward 990us",
    ],
)
def test_a_collective_of_another_thread_is_waited_for(waits: str) -> None:
    assert _waits_us(waits) == {"gloo:all_reduce": 599}


def test_who_waits_may_go_on_before_the_thread_that_wakes_it_does() -> None:
    waits = "  torch/_tensor.py(9): backward 600us\n  aten::copy_ 390us"
    assert _waits_us(waits) == {"gloo:all_reduce": 610 - 100}


@pytest.mark.parametrize(
    "works",
    [
        "  train.py(3): busy 990us",
        "  aten::sort 990us",
        "  torch/_tensor.py(9): backward 300us\n  aten::sort 690us",
    ],
)
def test_one_that_ends_during_other_work_is_not(works: str) -> None:
    assert not _waits_us(works)


def test_it_is_waited_for_since_the_last_operator_where_it_was_asked_for() -> None:
    account = _account(
        "train.py(3): step 900us\n  c10d::allreduce_ 300us\n"
        "  <built-in method run_backward of torch> 500us\n"
        "thread 2\naten::view 99us\ngloo:all_reduce 600us\n"
    )
    (part,) = (part for part in account.parts if part.cause == "other-process")
    assert part.time_ns // 1000 == 700 - 302
    assert [str(place.location) for place in part.places] == ["train.py:3"]


def test_kinds_of_one_cause_are_one_part() -> None:
    account = _account(
        _HEAD
        + _launch()
        + "  enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 500us\n"
        + _launch()
        + "  enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 300us\n"
        + _launch()
    )
    part = account.parts[0]
    assert (part.part, part.cause, part.text) == ("idle", "data-loading", "loading data")
    assert [kind for kind, _ in part.kinds] == ["waiting for the loader's workers", "loading data"]
    assert sum(ns for _, ns in part.kinds) == part.time_ns >= 790_000
    assert part.finer == ("waiting for the loader's workers",)


@pytest.mark.parametrize(
    ("op", "kernel", "expected"),
    [
        ("aten::addmm", "ampere_sgemm_128x64_nn", ("matmul", False)),
        ("aten::addmm", "nvjet_tst_128x64", ("matmul", True)),
        ("aten::cudnn_convolution", "ampere_sgemm_128x64_nn", ("convolution", False)),
        ("aten::cudnn_convolution", "sm80_xmma_fprop_implicit_gemm_tf32", ("convolution", True)),
        ("aten::convolution_backward", "cudnn::winograd_nonfused", ("convolution", False)),
        ("aten::copy_", "convert_kernel", ("elementwise", None)),
        ("aten::_flash_attention_forward", "flash_fwd_kernel", ("attention", None)),
        ("aten::sum", "reduce_kernel", ("normalization", None)),
        ("aten::sort", "radixSort", ("other", None)),
    ],
)
def test_what_computes(op: str, kernel: str, expected: tuple[str, bool | None]) -> None:
    account = _account(_HEAD + _launch(op, kernel))
    (part,) = (each for each in account.parts if each.part == "compute")
    assert (part.cause, part.tensor_cores) == expected


def test_products_on_both_sorts_of_cores_are_two_parts() -> None:
    account = _account(
        _HEAD + _launch("aten::mm", "nvjet_tst_128x64") + _launch("aten::mm", "volta_sgemm_128x64")
    )
    products = {part.text: part.time_ns for part in account.parts if part.cause == "matmul"}
    assert products == {
        "matrix products on Tensor Cores": 2000,
        "matrix products on ordinary cores": 2000,
    }


_CPU_STEP = """
ProfilerStep#1
  aten::conv2d
    aten::mkldnn_convolution 50us
  aten::linear
    aten::addmm 40us
  aten::view 30us
  autograd::engine::evaluate_function: MulBackward0
    train.py(7): seen 70us
      aten::mul 10us
  Optimizer.step#SGD.step
    train.py(9): step 25us
      aten::add_ 20us
"""


def test_a_cpu_run_has_the_words_of_what_computes() -> None:
    """What a hook or an optimizer computes is no host work of theirs."""
    account = _account(_CPU_STEP)
    times = {part.cause: part.time_ns for part in account.parts}
    assert {part.part for part in account.parts} == {"host"}
    assert times["hook-host"] == 60_000
    assert times["elementwise"] == 10_000
    assert times["optimizer"] == 20_000
    assert 5_000 <= times["optimizer-host"] <= 7_000
    assert times["convolution"] >= 50_000
    assert times["matmul"] >= 40_000
    assert times["other"] >= 30_000
