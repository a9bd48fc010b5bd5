"""The account: where each nanosecond of a run's steps went, on each device.

device_work.py   what a device does: the part each nanosecond with work belongs to
host_time.py     what a host thread does at each moment
idle_time.py     why a device has no work: what the thread that launches next was doing
efficiency.py    how fast products ran and memory was read, against the device's peaks
ranks.py         waiting for other ranks, where their traces are there
account.py       the parts of one device, which add up to the window
"""

from .account import MOST_DEVICES, Account, Accountant, LineTime, Part, make_accounts
from .device_rates import DeviceRates, rates_of
from .efficiency import Efficiency, OpWork, ProductRate
from .host_time import CAUSES, HostTime
from .idle_time import host_in_window
from .pieces import Stretches
from .places import Place
from .ranks import RankWaits, is_rank_of, jobs_of, waits_for_devices, waits_for_ranks

__all__ = [
    "CAUSES",
    "MOST_DEVICES",
    "Account",
    "Accountant",
    "DeviceRates",
    "Efficiency",
    "HostTime",
    "LineTime",
    "OpWork",
    "Part",
    "Place",
    "ProductRate",
    "RankWaits",
    "Stretches",
    "host_in_window",
    "is_rank_of",
    "jobs_of",
    "make_accounts",
    "rates_of",
    "waits_for_devices",
    "waits_for_ranks",
]
