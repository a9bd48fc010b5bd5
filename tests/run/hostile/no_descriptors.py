import os
import resource

from training import steps

steps(2)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
held = []
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
except OSError as error:
    print(error.strerror)
steps(12)
for each in held:
    os.close(each)
print("trained")
