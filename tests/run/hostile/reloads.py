import importlib
import json
import sys

import training

training.steps(3)
for name in ("json", "threading", "weakref", "contextlib", "inspect", "traceback"):
    module = importlib.import_module(name)
    again = importlib.reload(module)
    print(name, again is module)
before = training.step
importlib.reload(training)
print(before is training.step)
training.steps(6)
del sys.modules["json"]
import json as other  # noqa: E402

print(other is json)
training.steps(3)
importlib.invalidate_caches()
