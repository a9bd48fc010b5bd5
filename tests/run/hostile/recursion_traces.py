import sys
import traceback

from training import step, steps


def overflow(n):
    return overflow(n + 1)


def with_helpers(n):
    found = [x for x in range(3)]
    return len(found) + with_helpers(n + 1)


class Forwards:
    def __getattr__(self, name):
        return getattr(self, name + "x")


def generator(n):
    yield from generator(n + 1)


tries = [
    lambda: overflow(0),
    lambda: with_helpers(0),
    lambda: Forwards().a,
    lambda: [*generator(0)],
]
for _ in range(6):
    step()
    for each in tries:
        try:
            each()
        except RecursionError as error:
            frames = traceback.extract_tb(error.__traceback__)
            files = {frame.filename.rpartition("/")[2] for frame in frames}
            print(sorted(files), error.__context__, error.__cause__)
sys.setrecursionlimit(200)
steps(6)
overflow(0)
