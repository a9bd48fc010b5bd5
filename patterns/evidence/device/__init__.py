"""Devices and the calls, copies, memory and work of theirs that a trace holds.

Autograd, collectives, copies, devices, graphs, launches, lookups, memory, obstacles, products.
"""
