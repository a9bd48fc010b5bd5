"""Training code under test: the plug-in that pytest loads, and what it checks. docs/testing.md.

plugin.py   pytest's hooks; it imports nothing of tidy until a test asks for it
session.py  what a test recorded, and what is asserted of it
syncs.py    how often the host waits for a device
"""
