import os
import sys
import tempfile

from training import steps

steps(3)
here = os.getcwd()
gone = tempfile.mkdtemp(dir=here)
os.chdir(gone)
os.rmdir(gone)
steps(9)
try:
    os.getcwd()
except FileNotFoundError as error:
    print(error.strerror)


def fail():
    raise RuntimeError(os.path.basename(sys.argv[0]))


steps(60)
fail()
