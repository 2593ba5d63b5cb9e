"""How the C library keeps memory: a setting for programs that train, never made by an import."""

from __future__ import annotations

import ctypes

# mallopt's parameters, from glibc's malloc.h.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -2, -3, -4
_MOST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Tells glibc to keep what is freed, for the whole process; whether it did.

    By default large tensors are mapped when made and unmapped when freed, and the top of the heap is
    given back. So every update faults the same pages in again, zeroed by the kernel: 20 to 40% of the
    time of a training step on a CPU. Elsewhere than on glibc nothing happens.
    """
    try:
        library = ctypes.CDLL(None)
        mallopt = library.mallopt
    except (AttributeError, OSError, TypeError):
        return False
    if not hasattr(library, "gnu_get_libc_version"):  # other libraries have a mallopt that does nothing
        return False
    mallopt.argtypes, mallopt.restype = (ctypes.c_int, ctypes.c_int), ctypes.c_int
    # Before glibc 2.35 a threshold above 32 MB is refused; then nothing at all is mapped.
    mapped = mallopt(_MMAP_THRESHOLD, _MOST) or mallopt(_MMAP_MAX, 0)
    return bool(mapped and mallopt(_TRIM_THRESHOLD, _MOST) and mallopt(_TOP_PAD, 2**28))
