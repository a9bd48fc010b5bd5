"""Time: whose it is, what waits for what, and which share of it is worth a word.

Host_functions, host_idle, reads, rounds, timing, uploads, waits, worker_bound.
"""
