import gc
import sys
import tracemalloc
import warnings

from training import steps

warnings.resetwarnings()
warnings.simplefilter("always")
tracemalloc.start(5)
steps(6)
open(__file__)
gc.collect()
steps(6), setattr(sys, "kept", bytearray(1000))
taken = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)])
print(any(each.traceback[0].lineno == 12 for each in taken.statistics("lineno")))
tracemalloc.stop()
print(sys.flags.dev_mode, gc.get_threshold(), gc.isenabled())
