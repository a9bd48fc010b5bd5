"""The version, apart from `tidy/__init__.py` so that reading it imports nothing."""

__version__ = "0.1.0"
