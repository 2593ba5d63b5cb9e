"""A set of texts in little memory: 8 bytes a slot, where Python's `set` needs over a hundred."""

from __future__ import annotations

from array import array
from hashlib import blake2b


class Seen:
    """The 64-bit BLAKE2b digests of texts, in a hash table (linear probing: Knuth, volume 3, section 6.4).

    The probability that any two of n different texts share a digest is n squared / 2^65: for 40 million
    texts, 1 in 23,000.
    """

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 << 12))  # 0 is a free slot
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def add(self, text: str) -> bool:
        """Add the text; return whether it was new."""
        digest = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") or 1
        if not _put(self._slots, digest):
            return False
        self._used += 1
        if self._used * 3 > len(self._slots) * 2:
            self._grow()
        return True

    def _grow(self) -> None:
        old, self._slots = self._slots, array("Q", bytes(8 * 2 * len(self._slots)))
        for digest in old:
            if digest:
                _put(self._slots, digest)


def _put(slots: array[int], digest: int) -> bool:
    mask = len(slots) - 1
    slot = digest & mask
    while occupant := slots[slot]:
        if occupant == digest:
            return False
        slot = (slot + 1) & mask
    slots[slot] = digest
    return True
