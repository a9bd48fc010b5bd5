import sys

from training import steps


def refused(*args):
    raise RuntimeError("patched")


kept = sys.settrace, sys.setprofile, sys.gettrace, sys.getprofile
sys.settrace = sys.setprofile = sys.gettrace = sys.getprofile = refused
steps(12)
sys.settrace, sys.setprofile, sys.gettrace, sys.getprofile = kept
print("trained")
