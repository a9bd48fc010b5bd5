import os
import sys

from training import steps

steps(2)
os.closerange(3, 256)
steps(3)
print(os.open(os.devnull, os.O_RDONLY))
steps(9)
sys.stdout.flush()
os.closerange(0, 256)
steps(2)
