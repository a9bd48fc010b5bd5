import os
import shutil
import tempfile

from training import steps

place = tempfile.mkdtemp()
os.chdir(place)
shutil.rmtree(place)
steps(12)
try:
    print(os.getcwd())
except OSError as error:
    print(error.strerror)
