import glob
import os
import shutil
import tempfile

from training import steps

steps(2)
for folder in glob.glob(os.path.join(tempfile.gettempdir(), f"tidy-run-{os.getppid()}-*")):
    shutil.rmtree(folder)
steps(12)
print("trained")
