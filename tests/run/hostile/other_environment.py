import os
import tempfile

before = dict(os.environ)
print(sorted(name for name in os.environ if "TIDY" in name or "KINETO" in name))
from training import steps

print(sorted(name for name in os.environ if "TIDY" in name or "KINETO" in name))
os.environ.clear()
os.environ["TMPDIR"] = tempfile.tempdir = "/no/such/folder"
steps(12)
print(dict(os.environ))
