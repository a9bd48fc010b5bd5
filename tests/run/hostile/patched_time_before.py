import time

real = time.time_ns
time.time_ns = lambda: 17
time.monotonic = lambda: 17.0
time.sleep = lambda seconds: print("slept")
from training import steps

steps(12)
print(time.time_ns(), time.monotonic())
