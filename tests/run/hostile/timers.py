import signal
import time

from training import steps

fired = []


def on_alarm(number, frame):
    fired.append(number)
    if len(fired) < 60:
        signal.setitimer(signal.ITIMER_REAL, 0.005)


signal.signal(signal.SIGALRM, on_alarm)
signal.signal(signal.SIGVTALRM, lambda *_: fired.append("virtual"))
signal.setitimer(signal.ITIMER_REAL, 0.005)
steps(40)
while fired.count(signal.SIGALRM) < 60:
    time.sleep(0.01)


class TooSlow(Exception):
    pass


def too_slow(number, frame):
    raise TooSlow


signal.signal(signal.SIGALRM, too_slow)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    while True:
        pass
except TooSlow:
    print("too slow")
print(signal.getitimer(signal.ITIMER_REAL), fired.count(signal.SIGALRM))
steps(6)
