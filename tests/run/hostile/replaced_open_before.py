import builtins

real = builtins.open


def counted(file, *args, **kwargs):
    if "piece" in str(file) or "state" in str(file):
        print("opened", file)
    return real(file, *args, **kwargs)


builtins.open = counted
from training import steps

steps(12)
