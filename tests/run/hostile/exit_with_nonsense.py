import os

from training import steps

steps(2)
print(os._exit.__name__, repr(os._exit), callable(os.execv), os.abort.__doc__ == os.abort.__doc__)
try:
    os._exit("a word")
except TypeError as error:
    print(error)
os._exit()
