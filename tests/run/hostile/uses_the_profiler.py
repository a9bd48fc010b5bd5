import sys
import traceback

from training import steps, torch

steps(4)
if torch.__name__ == "torch":
    from torch.autograd.profiler import profile, record_function
else:
    from tidy import record_function
    from tidy.profiler import profile
first = profile()
with first:
    steps(2)
    try:
        with profile():
            steps(1)
    except Exception as error:
        names = [f.filename.rpartition("/")[2] for f in traceback.extract_tb(error.__traceback__)]
        print(type(error).__name__, "patches.py" in names, "guard.py" in names)
steps(60)
try:
    with record_function(3):
        pass
except Exception as error:
    names = [f.filename.rpartition("/")[2] for f in traceback.extract_tb(error.__traceback__)]
    print(type(error).__name__, names)
print(sys.gettrace(), sys.getprofile())
