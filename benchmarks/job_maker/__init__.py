"""Jobs of many ranks, made of one recorded step, with the truth beside them.

`make_job` simulates the job in true time and writes what Kineto would have recorded on each rank.

    step, read_step, record_step    one rank's step: points of the host, work of the device
    edits, pipeline                 what is put into it: collectives, microbatches, other work
    layout                          ranks, nodes, process groups, links, clocks
    plants                          what is wrong with the job, as factors
    simulation                      when everything happens on every rank, in true time
    kineto                          one rank's events as the text of a trace
    truth                           what is known of the job
    job                             from options to files
"""

from .job import JobOptions, make_job
from .plants import PLANTS

__all__ = ["PLANTS", "JobOptions", "make_job"]
