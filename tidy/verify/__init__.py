"""`tidy verify`: what a fix gains, measured beside what was predicted.

predict.py     the step after a fix as replayed, without what recording adds
micro.py       times of single ops, wrong and corrected; runs beside the framework
recorded.py    the ops to time, with the shapes they were recorded with
verification.py  a script recorded once, then timed with each correction
"""

from .verification import Measured, Verification, verify

__all__ = ["Measured", "Verification", "verify"]
