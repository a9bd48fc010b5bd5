"""From rows of the tables to operators: parse, declare, generate. Here is what declaring takes."""

from . import arguments
from .arguments import *  # noqa: F403  (its `__all__`, which rows may use too)
from .declare import declare
from .table import PUBLIC, TABLE, composite, function

__all__ = ["PUBLIC", "TABLE", "composite", "declare", "function"]
__all__ += arguments.__all__
