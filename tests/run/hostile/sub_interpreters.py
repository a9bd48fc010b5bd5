import os
import sys

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
from training import steps

steps(2)
sys.stdout.flush()
one = interpreters.create()
interpreters.run_string(
    one,
    """if True:
    import os, sys
    print([path for path in sys.path if "child" in path], "_tidy_child" in sys.modules)
    print(os.environ.get("PYTHONPATH"), [name for name in os.environ if "TIDY" in name])
    sys.stdout.flush()
""",
)
interpreters.destroy(one)
steps(12)
print(os.environ.get("PYTHONPATH"))
