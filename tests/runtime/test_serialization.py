"""save and load; no PyTorch needed but for reading a file of its."""

import io
import os
import pickle
import signal
import subprocess
import sys
import zipfile
from argparse import Namespace
from collections import Counter, OrderedDict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidy.runtime as rt
from tidy.runtime.serialization import load, save

ROOT = Path(__file__).parents[2]


def through(value):
    file = io.BytesIO()
    save(value, file)
    file.seek(0)
    return load(file)


def same(a, b):
    """Equal in class and value, arrays and tensors too."""
    if type(a) is not type(b):
        return False
    if isinstance(a, rt.Tensor):
        return a.requires_grad == b.requires_grad and same(a.array, b.array)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            same(x, y) for x, y in zip(a.items(), b.items(), strict=True)
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b)


dtypes = st.sampled_from("float16 float32 float64 int8 int64 uint8 bool complex64".split())
shapes = st.lists(st.integers(0, 3), max_size=3)
some_arrays = st.builds(
    lambda dtype, shape: (np.arange(np.prod(shape)) - 1).reshape(shape).astype(dtype),
    dtypes,
    shapes,
)
tensors = some_arrays.flatmap(
    lambda a: st.builds(
        lambda needs: rt.tensor(a, requires_grad=needs and a.dtype.kind in "fc"), st.booleans()
    )
)
words = st.text('a0é☃\n\0"\\')  # of all characters hypothesis makes a table first
keys = st.none() | st.booleans() | st.integers() | words | st.tuples(st.integers(), words)
leaves = keys | st.floats() | st.complex_numbers() | tensors | some_arrays | dtypes.map(np.dtype)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(keys, inner)
        | st.dictionaries(keys, inner).map(OrderedDict)
    ),
    max_leaves=8,
)


@settings(max_examples=25)
@given(trees)
def test_whatever_is_nested_comes_back(tree):
    assert same(through(tree), tree)


def test_a_training_state_comes_back(tmp_path):
    weight = rt.randn(3, 2, requires_grad=True)
    state = {
        "model": OrderedDict(weight=weight, bias=rt.zeros(3), steps=rt.tensor(7)),
        "optimizer": {
            "state": {0: {"step": rt.tensor(3.0), "exp_avg": rt.randn(3, 2)}},
            "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.999), "foreach": None, "params": [0]}],
        },
        "milestones": Counter({30: 1, 80: 2}),
        "dtype": rt.float32,
        "shape": weight.shape,
    }
    path = tmp_path / "state.pt"
    save(state, path)
    assert same(load(path, map_location="cpu", weights_only=True), state)
    save(state, str(path))
    assert same(load(str(path)), state)
    assert [p.name for p in tmp_path.iterdir()] == ["state.pt"]


def test_a_subclass_of_tensor_comes_back_as_a_tensor():
    class Parameter(rt.Tensor):
        pass

    found = through(Parameter(np.ones(2)).requires_grad_())
    assert type(found) is rt.Tensor
    assert found.requires_grad


def test_what_was_shared_is_shared():
    base = rt.arange(12).reshape(3, 4)
    parts = {"view": base.detach(), "row": base[1], "t": base.t(), "copy": base.clone()}
    found = through({"a": base, "tied": base, **parts})
    assert found["a"] is found["tied"] is not found["view"]
    assert found["a"].data_ptr() == found["view"].data_ptr()
    found["a"].fill_(-1)
    assert found["row"].tolist() == [-1] * 4
    assert found["t"].shape == (4, 3)
    assert found["t"][0].tolist() == [-1] * 3
    assert found["copy"].tolist() == base.tolist()


def test_an_array_is_saved_alone():
    many = np.arange(10000)
    whole, again, part = through([many, many, many[1::2]])
    assert whole is again
    assert (part.tolist(), part.strides) == (many[1::2].tolist(), (8,))
    assert not np.shares_memory(whole, part)
    rt.save(many[:3], file := io.BytesIO())
    assert len(file.getvalue()) < 2000


def test_an_element_of_memory_with_gaps_has_no_dimension():
    gaps = np.ndarray((3,), np.float64, bytearray(48), 0, (16,))
    assert through(gaps[1, ...]).shape == ()


def test_numpy_reads_the_arrays(tmp_path):
    save({"w": rt.tensor([1.0, 2.0])}, tmp_path / "w.npz")
    with np.load(tmp_path / "w.npz") as file:
        assert file["0"].tolist() == [1.0, 2.0]


class Opaque:
    pass


def test_objects_are_saved_and_read_if_trusted(tmp_path):
    state = {"args": Opaque(), "seen": {3}, "array": np.array([None])}
    save(state, tmp_path / "state")
    again = load(tmp_path / "state", weights_only=False)
    assert type(again["args"]) is Opaque
    assert again["seen"] == {3}
    assert again["array"].tolist() == [None]
    with pytest.raises(pickle.UnpicklingError, match="Opaque"):
        load(tmp_path / "state")


def test_what_cannot_be_saved_leaves_the_old_file(tmp_path):
    path = tmp_path / "old"
    save([1], path)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        save({"fn": lambda x: x}, path)
    assert load(path) == [1]
    assert [p.name for p in tmp_path.iterdir()] == ["old"]


def test_every_truncation_is_an_error():
    file = io.BytesIO()
    save({"w": rt.randn(20), "b": rt.randn(3)}, file)
    whole = file.getvalue()
    for length in range(len(whole)):
        with pytest.raises(RuntimeError, match="cannot load") as caught:
            load(io.BytesIO(whole[:length]))
        assert "\n" not in str(caught.value)


@settings(max_examples=50)
@given(st.data())
def test_a_flipped_byte_is_an_error_or_does_not_matter(data):
    tree = {"w": rt.arange(20), "n": [1, "two"]}
    file = io.BytesIO()
    save(tree, file)
    spoilt = bytearray(file.getvalue())
    spoilt[data.draw(st.integers(0, len(spoilt) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        found = load(io.BytesIO(spoilt))
    except RuntimeError:
        return
    assert same(found, tree)


def test_other_files(tmp_path):
    path = tmp_path / "other"
    for content, message in (
        (b"", "not a file of save"),
        (b"some text", "not a file of save"),
        (pickle.dumps([1]), "PyTorch as a pickle"),
        (b"PK\3\4 and so on", "truncated or damaged"),
    ):
        path.write_bytes(content)
        with pytest.raises(RuntimeError, match=f"cannot load {path}: .*{message}"):
            load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "")
    with pytest.raises(RuntimeError, match="truncated or damaged"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")


class Place(pickle.Pickler):
    """Writes that an array lies at a place which it is given."""

    def persistent_id(self, x):
        return x if isinstance(x, tuple) else None


def test_a_file_made_to_harm_is_refused():
    """Objects are never made from bytes, nor memory read outside what the file holds."""
    for view in ((0, (1,), "|O", 0, (8,)), (0, (99,), "<i8", 0, (8,)), (0, (1,), "<i8", -8, (8,))):
        file, content = io.BytesIO(), io.BytesIO()
        save(np.arange(4), file)
        Place(content).dump(("array", "cpu", False, *view))
        with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("structure.pkl", content.getvalue())
        with pytest.raises(RuntimeError, match="damaged"):
            load(file)


@pytest.mark.oracle
@pytest.mark.parametrize("as_zip", [True, False])
def test_a_file_of_pytorch_is_said_to_be_one(as_zip, tmp_path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "model.pt"
    torch.save({"w": torch.ones(2)}, path, _use_new_zipfile_serialization=as_zip)
    with pytest.raises(RuntimeError, match="written by PyTorch"):
        load(path)


KILLED = """
import os, signal, sys
import numpy as np
from tidy.runtime.serialization import save
def fatal(*args, **kwargs):  # called when the first array is being written
    os.kill(os.getpid(), signal.SIGKILL)
np.lib.format.write_array = fatal
save([np.ones(2)], sys.argv[1])
"""


def test_a_killed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "state"
    save("old", path)
    done = subprocess.run([sys.executable, "-c", KILLED, path], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert load(path) == "old"


class Refusing:
    def __setstate__(self, state):
        raise ValueError("not today")


def test_what_objects_say_is_theirs_and_none_is_trusted_unasked(tmp_path):
    own, masked, old = tmp_path / "own", tmp_path / "masked", tmp_path / "old"
    one = Refusing()
    one.size = 2
    save([one], own)
    with pytest.raises(ValueError, match=r"^not today$"):
        load(own, weights_only=False)
    with pytest.raises(pickle.UnpicklingError, match="safe_globals"):
        load(own, weights_only=None)
    save(np.ma.masked_array([1, 2], [False, True]), masked)
    assert load(masked, weights_only=False).tolist() == [1, None]
    with zipfile.ZipFile(old, "w") as archive:
        archive.writestr("structure.json", "{}")
    with pytest.raises(RuntimeError, match="written by an earlier version"):
        load(old)
    for kind in (rt.FloatTensor, rt.cuda.FloatTensor):
        assert pickle.loads(pickle.dumps(kind)) is kind  # noqa: S301 - our own


def test_devices_and_links_stay_what_they_are(tmp_path):
    save([1], os.devnull)
    assert not Path(os.devnull).is_file()
    real, link = tmp_path / "real", tmp_path / "link"
    save("old", real)
    link.symlink_to(real)
    save("new", link)
    assert link.is_symlink()
    assert load(real) == "new"


class Net(rt.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = rt.nn.Sequential(rt.nn.Linear(2, 3), rt.nn.BatchNorm1d(3))
        self.kind, self.size = rt.float32, rt.Size([2])

    def forward(self, x):
        return self.layers(x)


def test_whole_modules_are_read_if_their_classes_are_allowed():
    net, x, file = Net().eval(), rt.randn(4, 2), io.BytesIO()
    save(net, file)
    classes = [Net, rt.nn.Sequential, rt.nn.Linear, rt.nn.BatchNorm1d]
    with rt.serialization.safe_globals(classes[:-1]), pytest.raises(pickle.UnpicklingError) as told:
        load(file)
    assert "BatchNorm1d with torch.serialization.safe_globals" in str(told.value)
    with rt.serialization.safe_globals(classes):
        assert rt.serialization.get_safe_globals() == classes
        again = load(file)
    assert same(again(x), net(x))
    assert repr(again) == repr(net)
    assert again.kind is rt.float32
    assert rt.serialization.get_safe_globals() == []
    rt.serialization.add_safe_globals([(Net, f"{__name__}.Net"), *classes[1:]])
    try:
        assert type(load(file)) is Net
    finally:
        rt.serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        load(file)


class Calls:
    def __reduce__(self):
        return os.getcwd, ()


def test_what_is_not_allowed_is_not_called():
    net, file = Net(), io.BytesIO()
    net.extra = Calls()
    save(net, file)
    every = [Net, rt.nn.Sequential, rt.nn.Linear, rt.nn.BatchNorm1d]
    refused = pytest.raises(pickle.UnpicklingError, match="getcwd")
    with rt.serialization.safe_globals(every), refused:
        load(file)


def test_arguments_and_paths_are_read_if_trusted():
    value, file = [Namespace(rate=0.1, names=["a"]), Path("a/b")], io.BytesIO()
    save(value, file)
    assert load(file, weights_only=False) == value
    with pytest.raises(pickle.UnpicklingError, match="Namespace"):
        load(file)


def test_a_module_is_read_by_a_process_that_has_made_none(tmp_path):
    save(rt.nn.Sequential(rt.nn.Conv2d(1, 2, 3), rt.nn.LSTM(2, 2)), tmp_path / "net.pt")
    code = "import tidy.runtime as torch; print(torch.load('net.pt', weights_only=False)[0])"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=tmp_path, env=env)
    assert told.startswith("Conv2d(1, 2")


@pytest.mark.parametrize("module", [__name__, "no_module_of_that_name"])
def test_a_class_that_is_not_here_is_no_damage(module, monkeypatch):
    """Its name, or its module, is missing."""
    monkeypatch.setattr(Net, "__module__", module)
    with monkeypatch.context() as while_saving:
        while_saving.setitem(sys.modules, module, sys.modules[__name__])
        save(Net(), file := io.BytesIO())
    monkeypatch.delitem(globals(), "Net")
    with pytest.raises((ImportError, AttributeError), match=f"Net|{module}"):
        load(file, weights_only=False)
