from training import net, optimizer, steps, torch


class Hostile:
    def __repr__(self):
        raise ValueError("no repr")

    __str__ = __hash__ = __eq__ = __format__ = __bool__ = __len__ = __iter__ = __repr__

    def __getattr__(self, name):
        raise KeyError(name)


net.hostile = Hostile()
optimizer.hostile = Hostile()
optimizer.param_groups[0]["hostile"] = Hostile()
steps(6)
try:
    torch.ones(3).reshape(Hostile())
except Exception as error:
    print(type(error).__name__)


class Failing(Exception):
    def __str__(self):
        raise ValueError("no text")


try:
    raise Failing
except Failing:
    steps(6)
raise Failing
