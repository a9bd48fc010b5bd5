import os
import resource

from training import steps

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
try:
    while True:
        os.open(os.devnull, os.O_RDONLY)
except OSError as error:
    print(error.strerror)
steps(2)
print("trained")
