"""True costs: the steps that hold the evidence get the times that they have unrecorded.

light.py          the steps of the two cheaper stages
moments.py        when what was recorded began and ended, by thread and stream
time_map.py       from times of full steps to those of light ones, by what both have in common
                  alignment.py: what that is;  device_moments.py: on devices
unrecorded.py     what light recording adds, taken off
                  stopped_clock.py: how;  parts.py: for each part of a step by itself
disturbed.py      steps that other work of the machine made longer
batch_times.py    batches of workers with other times
"""
