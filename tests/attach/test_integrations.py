"""Callbacks of frameworks: what they are without them, and trainings with those installed."""

from __future__ import annotations

import copy
import pickle
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tidy

from ..run.running import python, write_script
from .workloads import named_lines

_CALLBACKS = {
    "LightningCallback": ("lightning", "pytorch_lightning"),
    "TrainerCallback": ("transformers",),
    "AccelerateTracker": ("accelerate",),
}
_DATA = """
import sys, warnings
warnings.simplefilter("ignore")
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tidy.integrations import AccelerateTracker, LightningCallback, TrainerCallback
def extra():
    t = torch.zeros(24)
    for i in range(24):
        t[i] = i  #! TDY404
"""
_LIGHTNING = """
import {package} as pl
class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 4)
    def training_step(self, batch, number):
        extra()
        if number == 9 and "fail" in sys.argv:
            raise KeyError("mine")
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
callback = LightningCallback(steps=3, trace="trace.json", output="report.txt")
assert isinstance(callback, pl.Callback)
data = TensorDataset(torch.randn(96, 8), torch.randint(0, 4, (96,)))
quiet = ["logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"]
trainer = pl.Trainer(max_epochs=1, accelerator="cpu", callbacks=[callback],
                     accumulate_grad_batches=2, **dict.fromkeys(quiet, False))
try:
    trainer.fit(Model(), DataLoader(data, 4))
except KeyError:
    print("failed")
print(trainer.global_step, [step.number for step in callback.recorder.trace.steps])
"""
_TRANSFORMERS = """
import transformers
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 4)
    def forward(self, x, labels):
        extra()
        return {"loss": nn.functional.cross_entropy(self.net(x), labels)}
data = [{"x": torch.randn(8), "labels": i % 4} for i in range(96)]
arguments = transformers.TrainingArguments(
    output_dir="out", max_steps=9, report_to=[], use_cpu=True, save_strategy="no",
    disable_tqdm=True, gradient_accumulation_steps=2, per_device_train_batch_size=4)
callback = TrainerCallback(steps=3, trace="trace.json", output="report.txt")
assert isinstance(callback, transformers.TrainerCallback)
trainer = transformers.Trainer(Model(), arguments, train_dataset=data, callbacks=[callback])
trainer.train()
print(trainer.state.global_step, [step.number for step in callback.recorder.trace.steps])
trainer.pop_callback(TrainerCallback)
assert callback not in trainer.callback_handler.callbacks
"""
_ACCELERATE = """
import accelerate
tracker = AccelerateTracker(steps=3, trace="trace.json", output="report.txt")
accelerator = accelerate.Accelerator(cpu=True, log_with=tracker, gradient_accumulation_steps=2)
accelerator.init_trackers("project")
net = nn.Linear(8, 4)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
data = TensorDataset(torch.randn(96, 8), torch.randint(0, 4, (96,)))
net, optimizer, loader = accelerator.prepare(net, optimizer, DataLoader(data, 4))
for x, y in loader:
    with accelerator.accumulate(net):
        extra()
        accelerator.backward(nn.functional.cross_entropy(net(x), y))
        optimizer.step()
        optimizer.zero_grad()
accelerator.end_training()
print([step.number for step in accelerator.get_tracker("tidy", unwrap=True).trace.steps])
"""


def test_importing_them_imports_no_framework() -> None:
    text = (
        "import sys, tidy.integrations as i\n"
        "frameworks = {'lightning', 'pytorch_lightning', 'transformers', 'accelerate', 'torch'}\n"
        "print(*i.__all__, frameworks & set(sys.modules))"
    )
    done = python("-c", text, cwd=Path.cwd())
    assert (done.out, done.err) == (
        "AccelerateTracker LightningCallback TrainerCallback set()\n",
        "",
    )


@pytest.mark.parametrize("name", _CALLBACKS)
def test_without_its_framework_it_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tidy.integrations

    for each in _CALLBACKS[name]:
        for module in [each, *(m for m in sys.modules if m.startswith(f"{each}."))]:
            monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(tidy.errors.UsageError, match=f"^{name} needs .*pip install"):
        getattr(tidy.integrations, name)(steps=3)


@pytest.mark.oracle
@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
@pytest.mark.parametrize("how", ["", "fail"])
def test_lightning(package: str, how: str, tmp_path: Path) -> None:
    _need(package.partition(".")[0])
    text = _DATA + _LIGHTNING.replace("{package}", package)
    done = python(write_script(tmp_path, text), *([how] if how else []), cwd=tmp_path)
    wanted = "failed\n4 [1, 2, 3]\n" if how else "12 [1, 2, 3]\n"
    assert (done.code, done.out) == (0, wanted), done.err
    _has_places(tmp_path, text, batches=2)


@pytest.mark.oracle
def test_transformers(tmp_path: Path) -> None:
    _need("transformers", "accelerate")
    text = _DATA + _TRANSFORMERS
    done = python(write_script(tmp_path, text), cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "9 [1, 2, 3]"
    _has_places(tmp_path, text, batches=2)


@pytest.mark.oracle
def test_accelerate(tmp_path: Path) -> None:
    _need("accelerate")
    text = _DATA + _ACCELERATE
    done = python(write_script(tmp_path, text), cwd=tmp_path)
    assert (done.code, done.out) == (0, "[1, 2, 3]\n"), done.err
    _has_places(tmp_path, text, batches=2)


@pytest.mark.oracle
def test_copies_and_pickles_begin_anew() -> None:
    _need("transformers")
    from tidy.integrations import TrainerCallback

    callback = TrainerCallback(steps=3, trace="kept.json")
    for again in (copy.deepcopy(callback), pickle.loads(pickle.dumps(callback))):  # noqa: S301
        assert type(again) is type(callback)
        assert again.recorder is not callback.recorder


def _need(*packages: str) -> None:
    missing = [each for each in packages if find_spec(each) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def _has_places(folder: Path, text: str, batches: int) -> None:
    """The report and the trace are there, with the lines that the script says are wrong."""
    trace = tidy.load(folder / "trace.json")
    places = {(f.code, f.location.line) for f in tidy.check(trace).findings if f.location}
    assert named_lines(text) <= places
    assert "TDY404" in (folder / "report.txt").read_text("utf-8")
    for step in trace.steps:
        inside = trace.within(step.start_ns, step.end_ns)
        assert sum(event.name == "aten::linear" for event in inside) == batches
