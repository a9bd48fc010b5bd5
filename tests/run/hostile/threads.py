import threading

from training import steps


def hook(args):
    print(args.exc_type.__name__, args.thread.name)


threading.excepthook = hook


def work(n):
    steps(n)
    if n == 3:
        raise ValueError(n)


for n in range(6):
    thread = threading.Thread(target=work, args=(n,), name=f"worker-{n}")
    thread.start()
    thread.join()
print([thread.name for thread in threading.enumerate()], threading.active_count())
