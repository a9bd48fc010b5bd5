"""`tidy verify`: what a fix gains, measured beside what was predicted.

micro.py       times of single ops, wrong and corrected; runs beside the framework
recorded.py    the ops to time, with the shapes they were recorded with
verification.py  the step after a fix: replayed, and timed with each correction switched on
"""

from .verification import Measured, Verification, verify

__all__ = ["Measured", "Verification", "verify"]
