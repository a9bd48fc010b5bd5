import os

from training import steps

steps(2)
try:
    os.execv("/no/such/program", ["program"])
except OSError as error:
    print(error)
steps(2)
os.execve("/no/such/program", ["program"], {})
