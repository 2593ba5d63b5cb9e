"""The memory that a process keeps while it trains. Importing this file changes nothing; programs call it."""

from __future__ import annotations

import ctypes
import os

# mallopt's parameters, from glibc's malloc.h.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -2, -3, -4
_MOST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Tell glibc to keep freed memory for the whole process. Return whether it does.

    By default glibc maps and unmaps every large tensor and gives the top of the heap back. Every update
    then faults the same pages in again, and the kernel zeroes them. On a CPU where page faults are slow,
    that took 20 to 40% of a training step. Without glibc this does nothing.
    """
    try:
        library = ctypes.CDLL(None)
        mallopt = library.mallopt
    except (AttributeError, OSError, TypeError):
        return False
    if not hasattr(library, "gnu_get_libc_version"):  # in other libraries mallopt does nothing
        return False
    mallopt.argtypes, mallopt.restype = (ctypes.c_int, ctypes.c_int), ctypes.c_int
    # glibc before 2.35 refuses a threshold above 32 MB. Then forbid mapping altogether.
    mapped = mallopt(_MMAP_THRESHOLD, _MOST) or mallopt(_MMAP_MAX, 0)
    return bool(mapped and mallopt(_TRIM_THRESHOLD, _MOST) and mallopt(_TOP_PAD, 2**28))


def keep_few_products() -> None:
    """Let oneDNN and PyTorch keep 64 prepared products each instead of 1,024. Call it before the first one.

    A product is prepared for each number of rows, which takes about 1 ms and 0.65 MB. The layers of a batch
    share them, but the next batch has other shapes. Kept among the tensors of a batch, they also split the
    memory that `keep_freed_memory` keeps, so that large tensors no longer fit in. Values that the environment
    has already stay.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, "64")


def release_freed_memory() -> None:
    """Give freed memory back to the system, for parts of the process that do not use glibc's."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return
    trim.argtypes = (ctypes.c_size_t,)
    trim(0)
