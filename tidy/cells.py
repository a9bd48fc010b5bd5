"""Cells of a notebook, which have files of other names than a person knows them by.

IPython compiles a cell under a name like `<ipython-input-3-0d1c2b3a4f5e>`, and ipykernel under
`/tmp/ipykernel_4711/1234567890.py`; both remember which cell that is.
Source: IPython/core/compilerop.py, CachingCompiler.format_code_name.
"""

from __future__ import annotations

import sys


def cell_name(file: str) -> str | None:
    """`In[3]` for the file of a cell that this process has run; None for any other file."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", None)
    known = name_of(file) if name_of is not None else None
    return str(known[1]) if known else None
