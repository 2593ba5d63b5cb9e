"""Find out which processes belong together when `torchrun` starts them again.

The agents of `torchrun` on several machines share one store for all starts, and tell their processes how
often they were started. One agent may count a lost process and another only that a machine joined again,
so their numbers differ. Processes that look for each other under different numbers would wait for ever.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import Any

from dragoman.base.errors import TrainingError

_PAUSE = 0.05  # seconds between two looks


def agreed_round(store: Any, rank: int, size: int, *, patience: float) -> str:
    """Return a name for this start that all of its processes get, and no earlier or later start.

    Each process puts down a new random word. The first one publishes the words of all; the others confirm
    a list that has their own; then the first one lets them go. Leftovers of earlier starts in the store have
    none of the new words. Raises TrainingError after `patience` seconds.
    """
    word, published, confirmed = secrets.token_hex(8), "", ""
    end = time.monotonic() + patience
    store.set(f"word/{rank}", word)
    while time.monotonic() < end:
        if rank == 0:
            every = [word, *(_read(store, f"word/{other}") for other in range(1, size))]
            if all(every) and " ".join(every) != published:
                published = " ".join(every)
                store.set("words", published)
            if published and all(_read(store, f"seen/{other}") == published for other in range(1, size)):
                store.set("go", published)
                return _name(published)
        else:
            words = _read(store, "words")
            if words != confirmed and words.split()[rank : rank + 1] == [word]:
                confirmed = words
                store.set(f"seen/{rank}", words)
            if confirmed and _read(store, "go") == confirmed:
                return _name(confirmed)
        time.sleep(_PAUSE)
    raise TrainingError(
        f"process {rank}: not all {size} processes have started within {patience:,.0f} seconds",
        hint="start torchrun with the same --rdzv-id on every machine",
    )


def _read(store: Any, key: str) -> str:
    return str(store.multi_get([key])[0].decode()) if store.check([key]) else ""


def _name(words: str) -> str:
    return hashlib.blake2b(words.encode(), digest_size=8).hexdigest()
