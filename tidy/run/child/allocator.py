"""The C library's allocator, in a state that what is recorded cannot change.

glibc gives freed memory back to the system or keeps it, by the largest block that was freed so far
and by what happens to lie at the end of its heap. What comes back costs a page fault each 4 KiB. So
the buffers of a recording, when they are freed, decide by chance how long a script's own arrays
take from then on: of two autoencoders one took a quarter longer after it, one a third less. Here
both limits are set to the most that glibc raises them to by itself. Source: malloc/malloc.c,
mallopt(3).
"""

from .kept import os

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # numbers of the parameters
_MOST_NBYTES = 32 << 20
_SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def steady() -> None:
    """Keep up to 64 MiB of what is freed, unless the user has said what to keep."""
    if any(name in os.environ for name in _SETTINGS):
        return
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # another C library; on Windows there is none
        return
    mallopt(_MMAP_THRESHOLD, _MOST_NBYTES)
    mallopt(_TRIM_THRESHOLD, 2 * _MOST_NBYTES)
