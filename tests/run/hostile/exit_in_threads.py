import _thread
import sys
import threading

from training import steps


def leave(code):
    steps(1)
    sys.exit(code)


for code in (0, 3, "words"):
    thread = threading.Thread(target=leave, args=(code,))
    thread.start()
    thread.join()
    print("joined", thread.is_alive())
done = threading.Event()


def fail():
    try:
        steps(1)
        _thread.exit()
    finally:
        done.set()


_thread.start_new_thread(fail, ())
done.wait()
steps(8)
sys.exit(4)
