import copy
import inspect
import pickle
import threading
import traceback

from training import net, steps, torch


class Slots(torch.nn.Module):
    __slots__ = ("extra",)

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2, 2))


class NotYet(torch.nn.Module):
    def __init__(self):
        try:
            self.inner = torch.nn.Linear(2, 2)
        except AttributeError as error:
            print("too early:", error)
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)


class ByClass(torch.nn.Linear):
    def __init__(self, inputs, outputs):
        torch.nn.Module.__init__(self)
        self.weight = torch.nn.Parameter(torch.zeros(outputs, inputs))
        self.bias = torch.nn.Parameter(torch.zeros(outputs))


class Equal(torch.nn.Linear):
    def __eq__(self, other):
        print("compared")
        return True

    def __hash__(self):
        return id(self)


class Watched(torch.nn.Module):
    def __getattribute__(self, name):
        if not name.startswith("__"):
            seen.append(name)
        return super().__getattribute__(name)


class Fails(torch.nn.Module):
    def _apply(self, function, recurse=True):
        raise RuntimeError("not to be converted")


class NoConstructor(torch.nn.Module):
    def forward(self, x):
        return x + 1


def shown(function):
    try:
        print(function())
    except Exception as error:
        print(
            type(error).__name__,
            error,
            [each.name for each in traceback.extract_tb(error.__traceback__)],
        )


seen = []
print(Slots().double().weight.dtype, ByClass(2, 3)(torch.ones(1, 2)).shape)
print(list(NotYet().state_dict()), NoConstructor()(torch.ones(1)))
print(Equal(2, 2).double().weight.dtype)
watched = Watched()
watched.inner = torch.nn.Linear(2, 2)
watched.double()
print(seen)
shown(lambda: Fails().double())
shown(lambda: torch.set_default_dtype(torch.int32))
shown(lambda: torch.nn.Linear(2, 2).to(torch.int32))
shown(lambda: torch.nn.Module().register_parameter("weight", 3))
print(
    [
        str(inspect.signature(getattr(torch.nn.Module, each)))
        for each in ("__init__", "_apply", "to")
    ]
)
copies = copy.deepcopy(net), pickle.loads(pickle.dumps(net))
print(
    [sorted(each.__dict__) == sorted(net.__dict__) for each in copies],
    [type(each).__name__ for each in copies],
)
print(pickle.loads(pickle.dumps(torch.set_default_dtype)) is torch.set_default_dtype)


def work():
    for _ in range(50):
        torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)).double()


threads = [threading.Thread(target=work) for _ in range(3)]
for each in threads:
    each.start()
for each in threads:
    each.join()


def deep(depth):
    return torch.nn.Linear(2, 2) if depth == 0 else deep(depth - 1)


shown(lambda: len(list(deep(100).parameters())))
steps(6)
print("done")
