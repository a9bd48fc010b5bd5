"""From the files of many ranks to their summaries, each file read where it lies.

rank.py       one file: read, checked and reduced to the bytes of its summary
parcel.py     a trace, and what a rule says of it, on their way to another process
compared.py   what the ranks of a job say of each other, from their traces together
late.py       the same of more ranks than are held in memory, from their tables of collectives
pool.py       worker processes that take a file at a time
dask_pool.py  the workers of a Dask cluster instead; cluster_state.py: whether it still answers
forks.py      worker processes that take a rule at a time, of one large trace
folder.py     all files: which are traces, which hold the same steps, and their summaries
"""

from .folder import Reduced, reduce_files
from .rank import Problem, RankFile, RankSettings, ReducedRank, reduce_held

__all__ = [
    "Problem",
    "RankFile",
    "RankSettings",
    "Reduced",
    "ReducedRank",
    "reduce_files",
    "reduce_held",
]
