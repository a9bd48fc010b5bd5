import faulthandler
import os
import signal
import sys
import tempfile

from training import steps

with tempfile.TemporaryFile("w+") as file:
    faulthandler.enable(file)
    faulthandler.register(signal.SIGUSR1, file, all_threads=False)
    faulthandler.dump_traceback_later(30, file=file)
    steps(6)
    os.kill(os.getpid(), signal.SIGUSR1)
    steps(6)
    faulthandler.cancel_dump_traceback_later()
    file.seek(0)
    print([line.rpartition("/")[2] for line in file.read().splitlines()])
print(faulthandler.is_enabled(), file=sys.stderr)
