"""The tests of tidy.

Threads of numpy's products spin while they have nothing to do, in each process that imports it: a
quarter of the processor's time that tests take, for tensors that one thread is enough for. Those of
PyTorch spin while they wait for each other, on a busy machine for as long as all else takes: here
they sleep. How many there are stays as it is, since rules look at it.
"""

import os

if "TIDY_SOAK" not in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
