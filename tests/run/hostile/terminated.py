import os
import signal

from training import steps

steps(12)
print("before", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
while True:
    pass
