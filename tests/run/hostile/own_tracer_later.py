import sys

from training import steps

seen = []


def trace(frame, event, argument):
    if frame.f_code.co_filename == __file__:
        seen.append((event, frame.f_lineno))
        return trace


def work(n):
    total = n
    steps(n)
    return total


work(2)
sys.settrace(trace)
work(1)
work(12)
print(sys.gettrace() is trace)
sys.settrace(None)
print(seen)
