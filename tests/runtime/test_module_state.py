"""What modules save beside tensors, hooks around named tuples, copies and pickles."""

import copy
import pickle
from collections import namedtuple

import pytest

import tidy.runtime as rt
from tidy.runtime import nn
from tidy.runtime.nn import functional as F  # noqa: N812


def extra_state(torch):
    """What modules save beside tensors, and how it comes back."""

    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = 0

        def get_extra_state(self):
            return {"seen": self.seen}

        def set_extra_state(self, state):
            self.seen = state["seen"]

    class Own(torch.nn.Linear):
        factor = 1.0

        def _save_to_state_dict(self, destination, prefix, keep_vars):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "factor"] = torch.tensor(self.factor)

        def _load_from_state_dict(self, state_dict, prefix, *rest):
            self.factor = state_dict.pop(prefix + "factor").item()
            super()._load_from_state_dict(state_dict, prefix, *rest)

    def made():
        return torch.nn.Sequential(Counter(), torch.nn.Sequential(Own(2, 1), Counter()))

    first, second = made(), made()
    first[0].seen, first[1][1].seen, first[1][0].factor = 3, 4, 0.5
    state = first.state_dict()
    found = [list(state), [state["0._extra_state"], state["1.1._extra_state"]]]
    loaded = second.load_state_dict(dict(state))
    found += [second[0].seen, second[1][1].seen, second[1][0].factor, list(loaded.missing_keys)]
    lacking = {k: v for k, v in state.items() if k != "0._extra_state"}
    found.append(list(second.load_state_dict(dict(lacking), strict=False).missing_keys))
    more = {**state, "new": state["1.0.bias"], "1.0.old.x": 1, "1.9.weight": 2}
    loaded = torch.nn.Sequential(Counter(), torch.nn.Sequential(torch.nn.Linear(2, 1), Counter()))
    try:
        loaded.load_state_dict(more)
    except RuntimeError as error:
        found += [word in str(error) for word in ("1.0.factor", "new", "1.0.old.x", "1.9.weight")]
    return found


def test_extra_state_is_saved_and_loaded_as_pytorchs():
    assert extra_state(rt) == [
        ["0._extra_state", "1.0.weight", "1.0.bias", "1.0.factor", "1.1._extra_state"],
        [{"seen": 3}, {"seen": 4}],
        *(3, 4, 0.5, [], ["0._extra_state"]),
        *(True, True, True, True),
    ]


@pytest.mark.oracle
def test_extra_state_is_what_pytorch_has():
    torch = pytest.importorskip("torch")
    assert extra_state(rt) == extra_state(torch)


def test_backward_hooks_leave_named_tuples_as_they_are():
    Pair = namedtuple("Pair", "one two")

    class Two(nn.Module):
        def forward(self, x):
            return Pair(x * 2, x + 1)

    model, seen = Two(), []
    model.register_full_backward_hook(lambda *given: seen.append(given))
    out = model(rt.ones(2, requires_grad=True))
    assert isinstance(out, Pair)
    out.two.sum().backward()
    assert len(seen) == 1


def test_copies_of_views_share_memory_as_their_originals_do():
    base = rt.arange(6.0).reshape(2, 3)
    one, row, turned, again = copy.deepcopy([base, base[1], base.t(), base])
    assert one is again
    row.fill_(-1)
    assert one.tolist() == [[0, 1, 2], [-1, -1, -1]]
    assert turned.tolist() == [[0, -1], [1, -1], [2, -1]]
    assert base.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_whole_module_is_saved(tmp_path):
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Dropout(0.5)).eval()
    model(rt.ones(4, 3))
    path = tmp_path / "model.pt"
    rt.save({"model": model, "epoch": 3}, path)
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        rt.load(path)
    found = rt.load(path, weights_only=False)
    assert found["epoch"] == 3
    assert repr(found["model"]) == repr(model)
    x = rt.randn(5, 3)
    assert rt.equal(found["model"](x), model(x))
    assert not found["model"].training
    found["model"].train()(x).sum().backward()
    rt.save(model, path)
    assert rt.equal(rt.load(path, weights_only=False)(x), model(x))


def test_functions_and_devices_are_pickled():
    for function in (
        *(rt.relu, rt.add, rt.norm, rt.matmul, rt.zeros, rt.where, rt.linalg.inv, rt.fft.fft),
        *(F.relu, F.gelu, F.cross_entropy, F.dropout, F.linear),
    ):
        assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301
    for device in (rt.device("cpu"), rt.device("cuda:1")):
        found = pickle.loads(pickle.dumps(device))  # noqa: S301
        assert (found, type(found)) == (device, rt.device)
        assert copy.deepcopy(device) == device
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    model.act = F.gelu
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert again.act is F.gelu
