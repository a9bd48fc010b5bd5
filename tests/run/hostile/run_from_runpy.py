import pathlib
import runpy
import sys

from training import steps

pathlib.Path("other.py").write_text(
    "import sys, training\n"
    "training.steps(2)\n"
    "print(__name__, sys.argv, sys.modules['__main__'].__name__, __file__.rpartition('/')[2])\n"
    "value = 3\n"
)
steps(2)
for name in ("other", "__main__"):
    found = runpy.run_path("other.py", run_name=name)
    print(found["value"], found["__name__"])
print(sorted(k for k in runpy.run_module("other") if not k.startswith("__")))
print(sys.argv == [__file__], "other" in sys.modules)
steps(8)
try:
    runpy.run_path("missing.py")
except FileNotFoundError as error:
    print(error)
runpy.run_module("not_there")
