"""Facts that rules reason with, each in one place. Nothing here knows a rule.

python    files, operators and places of the source, as Python has them, and what repeats in it
device    devices and their calls, copies, memory and work
time      whose time is whose, what waits for what, and which share of it is worth a word
fixes     forms that a fix replaces, and what it takes away from a recorded run

Each imports only from those above it.
"""
