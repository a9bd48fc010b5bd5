import resource

from training import steps

steps(2)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
steps(12)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
with open("written", "w") as file:
    file.write("afterwards")
print("trained")
