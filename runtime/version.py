"""torch.version's names."""

from . import __version__  # noqa: F401

debug, git_version = False, "tidy"
cuda = hip = rocm = xpu = None
