import sys

from training import steps

steps(2)
for name in [name for name in sys.modules if "tidy" in name and "runtime" not in name]:
    del sys.modules[name]
sys.meta_path.clear()
sys.path_hooks.clear()
sys.path_importer_cache.clear()
sys.path.clear()
steps(12)
print("trained")
