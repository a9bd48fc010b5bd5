import builtins
import sys


def telling(name):
    real = getattr(builtins, name)

    def call(*args, **kwargs):
        if "child" in sys._getframe(1).f_code.co_filename:
            print(name, "was called by the recorder")
        return real(*args, **kwargs)

    return call


for name in ("len", "getattr", "setattr", "hasattr", "max", "min", "sorted", "id", "callable"):
    setattr(builtins, name, telling(name))
from training import steps

steps(12)
print("trained")
