import cProfile
import pstats

from training import steps


def work(n):
    return steps(n)


work(2)
profiler = cProfile.Profile()
profiler.enable()
for _ in range(6):
    work(2)
profiler.disable()
print(
    [
        (key[2], value[0])
        for key, value in pstats.Stats(profiler).stats.items()
        if key[0] == __file__
    ]
)
