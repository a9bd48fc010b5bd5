import resource

from training import steps

for name, value in (
    ("RLIMIT_NPROC", 1),
    ("RLIMIT_CORE", 0),
    ("RLIMIT_STACK", 1 << 20),
    ("RLIMIT_MEMLOCK", 0),
):
    number = getattr(resource, name)
    resource.setrlimit(number, (value, resource.getrlimit(number)[1]))
steps(12)
print("trained")
