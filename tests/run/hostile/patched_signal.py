import signal

from training import steps


def refused(*args):
    print("refused", args)
    raise OSError("patched")


kept = signal.signal, signal.getsignal
signal.signal = signal.getsignal = refused
steps(12)
signal.signal, signal.getsignal = kept
print("trained")
