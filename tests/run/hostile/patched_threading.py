import threading

from training import steps


def refused(*args, **kwargs):
    print("refused")
    raise RuntimeError("patched")


kept = {name: getattr(threading, name) for name in ("get_native_id", "main_thread", "Thread")}
for name in kept:
    setattr(threading, name, refused)
steps(12)
for name in kept:
    setattr(threading, name, kept[name])
print("trained")
