"""Devices and the calls, copies, memory and work of theirs that a trace holds."""
