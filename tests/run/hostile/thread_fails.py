import threading

from training import steps


def work():
    steps(3)
    raise ValueError("in a thread")


thread = threading.Thread(target=work, name="worker")
thread.start()
thread.join()
steps(6)
