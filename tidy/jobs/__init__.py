"""A job of many ranks, from small tables of each: who waits for whom, and why.

table.py      what a rank recorded of its collectives
of_trace.py   that table from a trace
blocked.py    how long a rank did nothing but wait for a collective
matching.py   which rows of different ranks are one collective
clocks.py     the ranks' clocks, set by the ends of collectives
roles.py      which ranks do the same work, and what corresponds in it
stretches.py  numbers and medians of columns in stretches
waits.py      transfer told from waiting
own_time.py   a rank's own time in a step, above that of the others of its role
chain.py      that time between collectives
lateness.py   which ranks stay late, and which are late now and then
waves.py      in which order collectives can be computed
replay.py     what a late rank costs the job
compare.py    all of that, in the order in which it is computed
links.py      groups and pairs with slow transfers
parallelism.py   what groups are for
bubbles.py    what stages of a pipeline wait for one another
reasons.py    why a rank is late, from parts of any kind
uneven.py     whether ranks are late by turns as they are given more to do
words.py      ranks in words
heat_maps.py  ranks against steps
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..first_use import on_first_use

if TYPE_CHECKING:
    from .bubbles import bubbles_ns
    from .chain import Chain, chain_of, excess_of
    from .clocks import Clocks, align
    from .compare import ComparedRanks, compare_ranks, cost_of_late_ranks
    from .heat_maps import HeatMap, heat_map
    from .late_costs import LateCost, is_of_its_host, late_cost
    from .lateness import Lateness, Verdict, judged, lateness_of
    from .links import SlowLink, bandwidth, slow_links
    from .matching import Matched, match
    from .of_trace import collectives_of
    from .parallelism import parallelism_of
    from .reasons import LateReason, reason_of
    from .replay import ERROR_OF_COST, JobReplay, replay_of
    from .table import Collectives, ProcessGroup
    from .uneven import UnevenWork, step_flops_of, step_roles_of, uneven_work
    from .waits import GroupTime, MemberWaits, times_by_group, waits_of
    from .words import ranks_text

__all__ = [
    "ERROR_OF_COST",
    "Chain",
    "Clocks",
    "Collectives",
    "ComparedRanks",
    "GroupTime",
    "HeatMap",
    "JobReplay",
    "LateCost",
    "LateReason",
    "Lateness",
    "Matched",
    "MemberWaits",
    "ProcessGroup",
    "SlowLink",
    "UnevenWork",
    "Verdict",
    "align",
    "bandwidth",
    "bubbles_ns",
    "chain_of",
    "collectives_of",
    "compare_ranks",
    "cost_of_late_ranks",
    "excess_of",
    "heat_map",
    "is_of_its_host",
    "judged",
    "late_cost",
    "lateness_of",
    "match",
    "parallelism_of",
    "ranks_text",
    "reason_of",
    "replay_of",
    "slow_links",
    "step_flops_of",
    "step_roles_of",
    "times_by_group",
    "uneven_work",
    "waits_of",
]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "bubbles": "bubbles_ns",
        "chain": "Chain chain_of excess_of",
        "clocks": "Clocks align",
        "compare": "ComparedRanks compare_ranks cost_of_late_ranks",
        "heat_maps": "HeatMap heat_map",
        "late_costs": "LateCost is_of_its_host late_cost",
        "lateness": "Lateness Verdict judged lateness_of",
        "links": "SlowLink bandwidth slow_links",
        "matching": "Matched match",
        "of_trace": "collectives_of",
        "parallelism": "parallelism_of",
        "reasons": "LateReason reason_of",
        "replay": "ERROR_OF_COST JobReplay replay_of",
        "table": "Collectives ProcessGroup",
        "uneven": "UnevenWork step_flops_of step_roles_of uneven_work",
        "waits": "GroupTime MemberWaits times_by_group waits_of",
        "words": "ranks_text",
    },
)
