"""A set of digests agrees with a set of strings."""

import random

from dragoman.training.runs.tuning.held_out import Seen


def test_it_agrees_with_a_set_while_it_grows() -> None:
    chance = random.Random(1)
    seen, reference = Seen(), set[str]()

    for _ in range(40_000):  # through several growths: it begins with 4,096 slots
        text = str(chance.randrange(20_000))
        assert seen.add(text) == (text not in reference)
        reference.add(text)

    assert len(seen) == len(reference)


def test_an_entry_takes_few_bytes() -> None:
    seen = Seen()
    for number in range(20_000):
        seen.add(str(number))

    assert seen._slots.itemsize * len(seen._slots) <= 20_000 * 8 * 3
