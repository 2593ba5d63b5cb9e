"""Earlier answers, in bounded memory."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Cache(Generic[Key, Value]):
    """The values that were used last, of at most `most` bytes with their keys."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, and mark it as used last."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]

    def put(self, key: Key, value: Value) -> None:
        """Keep a value, and drop others for it. One that is larger than the cache is not kept."""
        self._drop(key)
        size = size_of(key) + size_of(value)
        if size > self._most:
            return
        self._values[key] = value, size
        self.bytes += size
        while self.bytes > self._most:
            self._drop(next(iter(self._values)))

    def _drop(self, key: Key) -> None:
        if key in self._values:
            self.bytes -= self._values.pop(key)[1]


def size_of(value: Any) -> int:
    """The bytes of a value of strings, numbers, tuples and dataclasses. Shared values count each time."""
    size = sys.getsizeof(value)
    if isinstance(value, tuple | list | frozenset):
        return size + sum(map(size_of, value))
    if is_dataclass(value):
        return size + 100 + sum(size_of(getattr(value, one.name)) for one in fields(value))
    return size
