"""A rule that says of ranks what no other process can be told: OF which, and HOW that fails."""

COMPARES = '''
from tidy import Pattern
from tidy.patterns.base import Match

class Odd(Pattern):
    """Says of ranks what cannot be sent."""
    code, needs, compares_ranks, fix = "ABC124", frozenset(), True, "none"

    def find(self, trace):
        return []

    def find_on_ranks(self, traces):
        return [
            [Match([], message=Said("it is odd"), location=None)] if trace.info.rank in OF else []
            for trace in traces
        ]

class Said(str):
    def __reduce__(self):
        HOW

def fails():
    raise ValueError("no")
'''
