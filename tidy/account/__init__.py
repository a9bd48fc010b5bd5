"""The account: where each nanosecond of a run's steps went, on each device.

device_work.py   what a device does: the part each nanosecond with work belongs to
host_kinds.py    the kinds of a host thread's time
host_rows.py     what each event of the host says of the time in it
host_stalls.py   operators that now and then take far longer than their like
host_thread.py   what is open on a thread, from each time to the next
host_time.py     what a thread does at each moment, by both
idle_time.py     why a device has no work: what the thread that launches next was doing
lost_work.py     which device work a recording lacks
efficiency.py    how fast products ran and memory was read, against the device's peaks
own_code.py      the lines of time in a script's own code
flame.py         the time by Python frame, module and operator
collective_args.py   what is said of a collective around its launch
which_job.py     which traces are ranks of one job
ranks.py         waiting for other ranks, where their traces are there
causes.py        the words for what time goes to
account.py       the parts of one device, which add up to the window
step_parts.py    the time of each step by part
accountant.py    makes accounts
"""

from .account import Account, LineTime, Part
from .accountant import MOST_DEVICES, Accountant, keep_accounts, make_accounts
from .causes import PartName
from .closures import closures
from .device_rates import rates_of
from .device_work import kernels_of_collectives
from .efficiency import Efficiency, OpWork, ProductRate
from .flame import FlameGraph
from .host_time import HostTime, main_track
from .idle_time import host_in_window
from .pieces import Stretches
from .ranks import RankWaits, waits_for_devices, waits_for_ranks
from .step_parts import StepParts
from .which_job import OfJob, jobs_of

__all__ = [
    "MOST_DEVICES",
    "Account",
    "Accountant",
    "Efficiency",
    "FlameGraph",
    "HostTime",
    "LineTime",
    "OfJob",
    "OpWork",
    "Part",
    "PartName",
    "ProductRate",
    "RankWaits",
    "StepParts",
    "Stretches",
    "closures",
    "host_in_window",
    "jobs_of",
    "keep_accounts",
    "kernels_of_collectives",
    "main_track",
    "make_accounts",
    "rates_of",
    "waits_for_devices",
    "waits_for_ranks",
]
