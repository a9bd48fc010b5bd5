import importlib.abc
import os
import sys

from training import steps

print([type(each).__name__ for each in sys.meta_path if "tidy" in repr(each)])
print([os.path.basename(each) for each in sys.path[:1]])
os.mkdir("shadow")
for name in ("json", "socket", "array", "contextlib", "signal"):
    with open(f"shadow/{name}.py", "w") as file:
        file.write(f"raise ImportError('the wrong {name}')\n")
sys.path.insert(0, os.path.abspath("shadow"))
kept = {name: sys.modules.pop(name) for name in ("array", "socket") if name in sys.modules}


class Refuses(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        raise ModuleNotFoundError(f"no {name} for you", name=name)


sys.meta_path.insert(0, Refuses())
steps(12)
try:
    import wave
except ModuleNotFoundError as error:
    print(error)
del sys.meta_path[0]
sys.path.clear()
sys.path_importer_cache.clear()
sys.path_hooks.clear()
sys.modules.update(kept)
steps(60)
print("trained")
