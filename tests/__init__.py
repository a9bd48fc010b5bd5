"""The tests of tidy.

Threads of numpy's products spin while they have nothing to do, in each process that imports it: a
quarter of the processor's time that tests take, for tensors that one thread is enough for.
"""

import os

if "TIDY_SOAK" not in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
