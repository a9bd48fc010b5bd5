import sys
import traceback

from training import steps


def hook(kind, error, trace):
    names = [(f.filename.rpartition("/")[2], f.name, f.lineno) for f in traceback.extract_tb(trace)]
    print(kind.__name__, error, names)
    sys.stdout.flush()
    sys.__excepthook__(kind, error, trace)


sys.excepthook = hook
steps(3)


def fail(optimizer, *args):
    raise KeyError("in a hook of the optimizer")


def train():
    from training import optimizer

    optimizer.register_step_post_hook(lambda *_: None)
    steps(2)
    try:
        optimizer.register_step_pre_hook(fail)
        steps(1)
    finally:
        print("cleaned up")


train()
