import os
import sys

here = os.getcwd()


def audit(event, args):
    if event == "open" and str(args[0]).startswith(here) and "__pycache__" not in str(args[0]):
        print(event, os.path.basename(args[0]))
    if event in ("os.rename", "os.remove", "subprocess.Popen", "os.fork") and here in str(args):
        print(event)


from training import steps

sys.addaudithook(audit)
steps(12)
with open("mine", "w"):
    pass
