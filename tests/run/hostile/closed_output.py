import sys

from training import steps

steps(3)
print("said before")
sys.stdout.flush()
sys.stdout.close()
steps(9)
try:
    print("said after")
except ValueError as error:
    sys.stderr.write(f"{error}\n")
sys.stdout = None
print("to nobody")
sys.stderr = None
raise SystemExit(5)
