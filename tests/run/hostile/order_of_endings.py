import atexit
import sys
import threading
import weakref

import training


class Kept:
    pass


kept = Kept()
weakref.finalize(kept, print, "finalized")
atexit.register(print, "first in, last out")
is_ending = threading.Event()
threading._register_atexit(is_ending.set)
threading._register_atexit(print, "before threads are joined")


@atexit.register
def late():
    training.steps(1)
    print("trained in atexit")
    raise ValueError("in atexit")


def wait():
    is_ending.wait()
    print("goes on as long as it likes")


threading.Thread(target=wait).start()
training.steps(12)
atexit.register(atexit.unregister, late)
sys.exit("the end")
