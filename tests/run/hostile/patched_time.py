import time


def frozen(*args):
    print("asked for the time")
    return 0


from training import steps

for name in (
    "time",
    "time_ns",
    "perf_counter",
    "perf_counter_ns",
    "monotonic",
    "monotonic_ns",
    "sleep",
):
    setattr(time, name, frozen)
steps(12)
print("trained", time.sleep is frozen)
