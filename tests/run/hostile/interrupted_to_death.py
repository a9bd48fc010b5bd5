import os
import signal

from training import steps


def inner():
    steps(3)
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        pass


inner()
