import sys

from training import steps

counts = {}


def hook(event, args):
    if event in ("os.remove", "subprocess.Popen", "os.system", "os.putenv", "socket.connect"):
        counts[event] = counts.get(event, 0) + 1
    if event == "open" and str(args[0]).endswith("forbidden"):
        raise PermissionError("not this one")


sys.addaudithook(hook)
steps(12)
try:
    open("forbidden", "w")
except PermissionError as error:
    print(error)
print(counts)


def refuses_all(event, args):
    if event in ("open", "os.rename", "os.mkdir", "ctypes.dlopen", "sys._getframe"):
        raise RuntimeError(event)


steps(2)
print("trained")
