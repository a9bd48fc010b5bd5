import sys

seen = []


def trace(frame, event, argument):
    if frame.f_code.co_filename == __file__:
        seen.append((event, frame.f_lineno))
        return trace


def work(n):
    total = n
    steps(n)
    return total


sys.settrace(trace)
from training import steps

work(2)
work(12)
print(sys.gettrace() is trace)
sys.settrace(None)
print(seen)
