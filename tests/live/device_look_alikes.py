"""Scripts on a modelled device that look like a mistake and are none; see look_alikes.py."""

from .device_cases import train
from .look_alikes import LookAlike

_SIZE = 64  # of batches: what is done to them matters here, not how long it takes
_LARGE = 512  # of which a batch is worth to be pinned
_PINNED = "samples = [each.pin_memory() for each in samples]"
_UP, _PINNED_UP, _BACK = "Memcpy HtoD (Pageable*", "Memcpy HtoD (Pinned*", "Memcpy DtoH*"


def _like(
    code: str,
    name: str,
    sees: dict[str, int],
    before: str = "",
    inputs: str = "inputs = batches[step]",
    after: str = "",
    optimizer: str = "SGD(model.parameters(), lr=0.01)",
    update: str = "optimizer.step()",
    size: int = _SIZE,
    device: str = "a100",
) -> LookAlike:
    return LookAlike(
        code, name, train(before, inputs, after, optimizer, update, size), sees, device
    )


_UPLOADS = [
    _like(
        "TDY103",
        "too-small-to-pin",
        {_UP: 7},
        inputs='inputs = samples[step].to("cuda")',
    ),
    _like(
        "TDY103",
        "all-batches-once",
        {_UP: 1},
        size=_LARGE,
    ),
    _like(
        "TDY103",
        "in-one-step",
        {_UP: 2},
        after='checked = model(samples[0].to("cuda")) if step == 3 else None',
        size=_LARGE,
    ),
    _like(
        "TDY103",
        "a-model-moves",
        {_UP: 9},
        'other = nn.Linear(512, 64).to("cuda")',
    ),
    _like(
        "TDY104",
        "non-blocking",
        {_PINNED_UP: 6},
        _PINNED,
        'inputs = samples[step].to("cuda", non_blocking=True)',
        size=_LARGE,
    ),
    _like(
        "TDY104",
        "back-from-the-device",
        {"Memcpy DtoH (Device -> Pinned*": 6},
        "kept = torch.empty(64, 64).pin_memory()",
        after="kept.copy_(inputs)",
    ),
    _like(
        "TDY104",
        "in-one-step",
        {_PINNED_UP: 1},
        _PINNED,
        after='checked = model(samples[0].to("cuda")) if step == 3 else None',
        size=_LARGE,
    ),
    _like(
        "TDY201",
        "data-of-the-run",
        {_UP: 7},
        inputs="inputs = torch.from_numpy(numpy.tanh(samples[step].numpy())).to('cuda')",
    ),
    _like(
        "TDY201",
        "changed-on-the-cpu",
        {_UP: 7, "aten::zeros": 6},
        inputs="start = torch.zeros(64, 64)\n    start[0] = 1\n"
        "    start = start.cumsum(0)\n    inputs = start.to('cuda')",
    ),
    _like(
        "TDY202",
        "the-next-batch-is-pinned",
        {_PINNED_UP: 7, _BACK: 6},
        _PINNED + "\nnext_batch = samples[0].to('cuda')\nkept = []",
        "inputs = next_batch",
        "kept.append((inputs * 2).cpu())\n"
        "    next_batch = samples[(step + 1) % 6].to('cuda', non_blocking=True)",
    ),
    _like(
        "TDY202",
        "a-loader-gives-the-next-batch",
        {_UP: 7, _BACK: 6, "enumerate(DataLoader)#*": 7},
        "from torch.utils.data import DataLoader\n"
        "batches = iter(DataLoader(torch.cat(samples + samples[:1]), batch_size=64))\n"
        "next_batch = next(batches).to('cuda')\nkept = []",
        "inputs = next_batch",
        "kept.append((inputs * 2).cpu())\n    next_batch = next(batches).to('cuda')",
    ),
    _like(
        "TDY202",
        "a-batch-before-its-results",
        {_UP: 7, _BACK: 6},
        "kept = []",
        "inputs = samples[step].to('cuda')",
        "kept.append((inputs * 2).cpu())",
    ),
    _like(
        "TDY202",
        "a-few-numbers",
        {_UP: 7, _BACK: 6},
        inputs="scale = numpy.tanh(batches[step][0].cpu().numpy())\n"
        "    inputs = batches[step] * torch.from_numpy(scale).to('cuda')",
    ),
    _like(
        "TDY205",
        "few-copies",
        {"aten::copy_": 240},
        "many = [torch.ones(8, device='cuda') for _ in range(40)]\n"
        "copies = [torch.empty_like(each) for each in many]",
        after="for a, b in zip(copies, many): a.copy_(b)",
    ),
    _like(
        "TDY205",
        "a-target-network-once",
        {"aten::copy_": 60},
        "many = [torch.ones(8, device='cuda') for _ in range(60)]\n"
        "copies = [torch.empty_like(each) for each in many]",
        after="for a, b in zip(copies, many) if step == 3 else []: a.copy_(b)",
    ),
    _like(
        "TDY205",
        "copied-together",
        {"aten::_foreach_copy_": 6},
        "many = [torch.ones(8, device='cuda') for _ in range(60)]\n"
        "copies = [torch.empty_like(each) for each in many]",
        after="torch._foreach_copy_(copies, many)",
    ),
    _like(
        "TDY206",
        "made-on-the-device",
        {"aten::index": 6, "aten::argmax": 6},
        after="some = inputs[inputs.argmax(0)].sum()",
    ),
    _like(
        "TDY206",
        "labels-of-a-batch",
        {"aten::gather": 6, _UP: 7},
        "labels = torch.zeros(64, 1, dtype=torch.long)",
        after="scores = model(inputs)\n    own = scores.gather(1, labels.to('cuda'))",
    ),
    _like(
        "TDY206",
        "paddings-of-a-batch",
        {"aten::masked_fill": 6, _UP: 7},
        "pads = torch.zeros(64, 64, dtype=torch.bool)",
        "inputs = batches[step].masked_fill(pads.to('cuda'), 0)",
    ),
    _like(
        "TDY206",
        "words-of-a-batch",
        {"aten::embedding": 6, _UP: 7},
        "words = torch.tensor([7 * n % 64 for n in range(64)])",
        after="some = nn.functional.embedding(words.to('cuda'), inputs).sum()",
    ),
    _like(
        "TDY206",
        "in-one-step",
        {"aten::index": 1, _UP: 2},
        "chosen = torch.tensor([7 * n % 64 for n in range(64)])",
        after="some = inputs[chosen].sum() if step == 3 else 0",
    ),
    _like(
        "TDY206",
        "looked-up-on-the-cpu",
        {"aten::index": 6, _UP: 7},
        "chosen = torch.tensor([7 * n % 64 for n in range(64)])",
        "inputs = samples[step][chosen].to('cuda')",
    ),
    _like(
        "TDY304",
        "one-number-a-step",
        {"aten::lift_fresh": 6, _UP: 7},
        inputs="inputs = batches[step] * torch.tensor(step / 7, device='cuda')",
    ),
    _like(
        "TDY304",
        "all-in-one-tensor",
        {"aten::lift_fresh": 6, _UP: 7},
        inputs="a = torch.tensor([1 / 7, 2 / 7, 3 / 7], device='cuda')\n"
        "    inputs = batches[step] * a[0] + a[1] * a[2]",
    ),
    _like(
        "TDY304",
        "before-the-loop",
        {"aten::lift_fresh": 3, _UP: 4},
        "a, b, c = (torch.tensor(n / 7, device='cuda') for n in (1, 2, 3))",
        "inputs = batches[step] * a + b * c",
    ),
    _like(
        "TDY305",
        "waited-for",
        {"Memcpy DtoH (Device -> Pinned*": 6, "aten::item": 6},
        after="shown = loss.detach().to('cpu', non_blocking=True); torch.cuda.synchronize(); "
        "shown.item()",
    ),
    _like(
        "TDY305",
        "read-a-step-later",
        {"Memcpy DtoH (Device -> Pinned*": 6, "aten::item": 6},
        "before = torch.zeros(())",
        after="before.item()\n    before = loss.detach().to('cpu', non_blocking=True)",
    ),
    _like(
        "TDY305",
        "another-number-of-the-same-line",
        {"Memcpy DtoH (Device -> Pinned*": 6, "aten::mul": 6},
        "factor = torch.ones(())",
        after="kept = loss.detach().to('cpu', non_blocking=True), factor * 2",
    ),
    _like(
        "TDY305",
        "read-from-the-device",
        {"Memcpy DtoH (Device -> Pinned*": 6, "aten::item": 6},
        after="kept = loss.detach().to('cpu', non_blocking=True), loss.item()",
    ),
]

_CLIPPED = "norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
_NORMS = {"aten::_foreach_norm": 6, "aten::item": 6}
_OPS = {"Optimizer.step#*": 6, "aten::_foreach_*": 6}
_ADAM, _BY_HAND = "Adam(model.parameters(), lr=0.01{})", "SGD(model.parameters(), lr=0.01{})"
_PYTHON = "number = 3**5000\ndef churn(number):\n    return number * number % (2**8191 - 1)"
# A product of these takes the device some nine milliseconds.
_WIDE = "wide = torch.ones(1024, 1024, dtype=torch.float64, device='cuda')"

_COMPUTES = [
    _like(
        "TDY401",
        "the-device-has-enough-to-do",
        {"*: churn": 6},
        f"{_PYTHON}\n{_WIDE}",
        after="product = wide @ wide\n    number = churn(number)",
        device="t4",
    ),
    _like(
        "TDY401",
        "before-the-steps",
        {"*: churn": 400},
        f"{_PYTHON}\nfor _ in range(400): number = churn(number)",
    ),
    _like(
        "TDY602",
        "a-single-pass",
        _OPS,
        optimizer=_BY_HAND.format(", foreach=True"),
    ),
    _like(
        "TDY602",
        "clipped-beside-a-fused-step",
        {**_OPS, "aten::_fused_adam_": 6, "aten::_foreach_mul_": 6},
        optimizer=_ADAM.format(", fused=True"),
        update=f"{_CLIPPED}\n    optimizer.step()",
    ),
    _like(
        "TDY602",
        "no-fused-form-to-be-had",
        {**_OPS, "aten::_foreach_*": 24},
        optimizer="RMSprop(model.parameters(), lr=0.01, foreach=True)",
    ),
    _like(
        "TDY604",
        "the-norm-stays-there",
        {"aten::_foreach_norm": 6},
        update=f"{_CLIPPED}\n    optimizer.step()",
        after="shown = norm if step == 0 else torch.maximum(shown, norm)",
    ),
    _like(
        "TDY604",
        "read-once",
        {"aten::_foreach_norm": 6, "aten::item": 1},
        update=f"{_CLIPPED}\n    shown = norm.item() if step == 3 else 0\n    optimizer.step()",
    ),
    _like(
        "TDY604",
        "the-loss-is-read-after-the-step",
        _NORMS,
        update=f"{_CLIPPED}\n    optimizer.step()",
        after="shown = loss.item()",
    ),
    _like(
        "TDY604",
        "the-norm-of-one-tensor",
        {"aten::linalg_vector_norm": 6, "aten::item": 6},
        update="shown = torch.linalg.vector_norm(model[0].weight.grad).item()\n"
        "    optimizer.step()",
    ),
]

_ALLOCATES = """\
import torch

weight = torch.ones(256, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
kept = []
batch = torch.ones(2048, 256, device="cuda")
{before}
for step in range(7):
    inputs = torch.ones({rows}, 256, device="cuda")
    optimizer.zero_grad()
    loss = (inputs[:64] * weight).square().mean()
    loss.backward()
    {keep}
    del inputs
    optimizer.step()
"""
_EMPTIED = "wide = torch.ones(16384, 512, device='cuda'); del wide; torch.cuda.empty_cache()"


def _holds(
    code: str,
    name: str,
    sees: dict[str, int],
    rows: str = "12288",
    keep: str = "",
    before: str = "",
) -> LookAlike:
    text = _ALLOCATES.format(rows=rows, keep=keep, before=before)
    return LookAlike(code, name, text, sees, "a100")


_MEMORY = [
    _holds("TDY801", "two-shapes-by-turns", {"cudaMalloc": 2}, "12288 + 4096 * (step % 2)"),
    _holds("TDY801", "one-new-shape", {"cudaMalloc": 2}, "12288 + 4096 * (step > 3)"),
    _holds("TDY801", "smaller-from-step-to-step", {"cudaMalloc": 2}, "20480 - 2048 * step"),
    _holds(
        "TDY802",
        "in-one-step",
        {"*: empty_cache": 1, "cudaFree": 1},
        keep=f"if step == 3: {_EMPTIED}",
    ),
    _holds(
        "TDY802",
        "before-the-steps",
        {"*: empty_cache": 1, "cudaFree": 1},
        before=_EMPTIED,
    ),
    _holds(
        "TDY802",
        "what-the-allocator-gives-back-itself",
        {"cudaFree": 2},
        "12288 + 4096 * step",
        before="torch.cuda.set_per_process_memory_fraction(0.002)",
    ),
    _holds("TDY804", "numbers", {"[memory]": 20}, keep="kept.append(loss.detach())"),
    _holds("TDY804", "a-queue-of-two", {"[memory]": 20}, keep="kept = [*kept[-1:], inputs * 2]"),
    _holds(
        "TDY804",
        "a-graph-that-is-followed",
        {"[memory]": 20},
        keep="kept = (batch * weight).square().mean()",
    ),
    _holds("TDY805", "memory-to-spare", {"[memory]": 20}, keep="(batch * weight).sum().backward()"),
]

_THERE_AND_BACK = "there = torch.fft.irfft(torch.fft.rfft(inputs, n={n}), n={n})"
_FFT_KERNELS = {"aten::fft_rfft": 6, "*regular_fft*": 12}
_FFTS = [
    _like("TDY417", name, _FFT_KERNELS, "from torch import record_function", after=after)
    for name, after in {
        "padded-to-factors-of-2-and-5": _THERE_AND_BACK.format(n=1000),
        "a-factor-of-101-is-direct": _THERE_AND_BACK.format(n=202),
        "a-range-has-the-name": "with record_function('bluestein'): "
        + _THERE_AND_BACK.format(n=1024),
    }.items()
]

DEVICE_LOOK_ALIKES: list[LookAlike] = [*_UPLOADS, *_COMPUTES, *_FFTS, *_MEMORY]
