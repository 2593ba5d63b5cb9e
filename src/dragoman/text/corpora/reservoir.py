"""A sample of a stream, each item equally likely (reservoir sampling: Vitter 1985, algorithm R)."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def draw_sample(items: Iterable[Item], size: int, chance: random.Random) -> list[Item]:
    """Return at most `size` of the items, a function of `chance`. The whole stream is read."""
    sample: list[Item] = []
    for number, item in enumerate(items):
        if number < size:
            sample.append(item)
        elif (place := chance.randrange(number + 1)) < size:
            sample[place] = item
    return sample
