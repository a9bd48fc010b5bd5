import atexit

from training import steps

steps(2)
print(atexit._ncallbacks() >= 0)
atexit._clear()
atexit.register(print, "mine")
steps(12)
