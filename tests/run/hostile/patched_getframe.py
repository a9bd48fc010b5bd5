import sys

from training import steps


def refused(*args):
    raise ValueError("no frames today")


real, sys._getframe = sys._getframe, refused
steps(12)
sys._getframe = real
print("trained")
