"""Reports in the forms of other programs: code scanning, annotations of a CI run, a comment."""

from .results import Results

__all__ = ["Results"]
