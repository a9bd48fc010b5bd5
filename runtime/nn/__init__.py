"""Layers. So far only their functions."""

from . import functional

__all__ = ["functional"]
