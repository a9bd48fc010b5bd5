"""Run in a process that `multiprocessing` spawns for a script on tidy.runtime: see alias.py.

`SETTINGS` are those of `tidy run` that an alias needs.
"""

import sys
from importlib.util import find_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    SETTINGS: dict[str, Any]

if SETTINGS["same_python"] and find_spec("tidy") is None:
    sys.path.append(SETTINGS["tidy_path"])
from tidy.run.child.alias import install

install(SETTINGS, is_recorded=False)
