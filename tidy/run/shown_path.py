"""How a file of the user's is named in a trace."""

from __future__ import annotations

import os
import sys

from ..cells import cell_name
from ..trace.location import is_user_file


def shown_path(file: str) -> str:
    """A file of the user as the report names it: relative where it is below the working directory.

    `./` stands before what could be taken for a library.
    """
    cell = cell_name(file)
    if cell is not None:
        return cell
    folder = os.getcwd() + os.sep  # noqa: PTH109
    if not file.startswith(folder):
        return file.replace("\\", "/")
    relative = file[len(folder) :].replace("\\", "/")
    is_safe = is_user_file(relative) and relative.partition("/")[0] not in sys.stdlib_module_names
    return relative if is_safe else f"./{relative}"
