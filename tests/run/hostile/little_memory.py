import resource

from training import steps

steps(6)
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
limit = pages * resource.getpagesize() + (192 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
steps(6)
try:
    bytes(4 << 30)
except MemoryError as error:
    print("caught", type(error).__name__)
steps(60)
print("trained")
