import sys

from training import steps


def overflow(n):
    return overflow(n + 1)


def deep(n):
    return deep(n - 1) if n else steps(2)


for _ in range(5):
    try:
        overflow(0)
    except RecursionError as error:
        print("caught", type(error).__name__)
    steps(1)
here, frame = 0, sys._getframe()
while frame:
    here, frame = here + 1, frame.f_back
deep(sys.getrecursionlimit() - here - 100)
steps(5)
print("trained")
