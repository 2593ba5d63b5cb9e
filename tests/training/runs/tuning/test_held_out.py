"""Which pairs are held out, and which leave training because they are like one."""

from __future__ import annotations

import random
from difflib import SequenceMatcher
from itertools import pairwise

import pytest

from dragoman.text import toy
from dragoman.text.corpora.context import with_context
from dragoman.text.corpora.corpus import chained, open_pairs
from dragoman.training.runs.tuning.held_out import count_and_draw, normal, pairs_to_hold_out, without

PAIRS = toy.pairs(seed=3, count=400)


def indel_ratio(one: str, other: str) -> float:
    """1 - (insertions + deletions) / length of both, by the textbook's table for the common subsequence."""
    row = [0] * (len(other) + 1)
    for a in one:
        diagonal = 0
        for place, b in enumerate(other, 1):
            diagonal, row[place] = row[place], diagonal + 1 if a == b else max(row[place], row[place - 1])
    return 2 * row[-1] / max(1, len(one) + len(other))


@pytest.mark.parametrize(
    ("pairs", "held"), [(30, 0), (199, 0), (200, 50), (1000, 50), (2000, 100), (20_000, 500), (500_000, 500)]
)
def test_how_many(pairs: int, held: int) -> None:
    assert pairs_to_hold_out(pairs) == held


def test_the_draw_is_a_function_of_text_and_seed() -> None:
    first, again, other = (count_and_draw(open_pairs(PAIRS), most=20, seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert first.sample != other.sample
    assert len(set(first.sample)) == 20
    assert set(first.sample) <= set(PAIRS)
    assert first.pairs == 400
    assert first.letters == sum(max(map(len, pair)) for pair in PAIRS)


def test_every_pair_is_drawn_equally_often() -> None:
    few = [(f"{word} one", word) for word in "abcdefghij"]
    counts = dict.fromkeys(few, 0)
    for seed in range(600):
        for pair in count_and_draw(open_pairs(few), most=3, seed=seed).sample[:2]:
            counts[pair] += 1

    assert all(85 <= count <= 155 for count in counts.values()), counts  # 120 are expected, deviation 10


def test_empty_equal_and_huge_sources_are_not_drawn() -> None:
    odd = [("", "x"), ("x", " "), ("Page 1", "Seite 1"), ("PAGE  2", "Seite 2"), ("y" * 1001, "z")]

    counted = count_and_draw(open_pairs(odd), most=9, seed=1)

    assert counted.sample == (("Page 1", "Seite 1"),)
    assert counted.pairs == 3


def mutated(text: str, chance: random.Random) -> str:
    words = text.split()
    for _ in range(chance.randrange(4)):
        words.insert(chance.randrange(len(words) + 1), chance.choice(["red", "not", "seven", "x"]))
        words.pop(chance.randrange(len(words)))
    return " ".join(words)


@pytest.mark.thorough
@pytest.mark.parametrize("alike", [0.5, 0.8, 1.0])
def test_what_is_like_a_held_out_pair_leaves(alike: float) -> None:
    """Compared with all pairs, by another implementation."""
    chance = random.Random(5)
    held = PAIRS[:12]
    text = [*PAIRS[12:150], *((mutated(s, chance), mutated(t, chance)) for s, t in held * 4), ("", "")]
    chance.shuffle(text)

    kept, lost = without(open_pairs(text), held, alike=alike)

    def like(side: int, value: str) -> bool:
        normals = [normal(pair[side]) for pair in held]
        return bool(value) and any(indel_ratio(normal(value), one) >= alike - 1e-12 for one in normals)

    expected = [pair for pair in text if not like(0, pair[0]) and not like(1, pair[1])]
    assert [line[1:3] for line in kept] == expected
    assert [line[1:3] for line in kept] == expected  # it can be read again
    assert 0 < lost == len(text) - len(expected) < len(text)


def test_one_alike_side_is_enough() -> None:
    text = [("A dog.", "Etwas anderes!"), ("Something else!", "Ein Hund."), ("Blue water", "Wasser")]

    kept, lost = without(open_pairs(text), [("a  DOG.", "ein hund.")], alike=1)

    assert ([line.source for line in kept], lost) == (["Blue water"], 2)


def test_lines_without_a_translation_are_left_out_but_are_no_pairs() -> None:
    text = [("A dog.", ""), ("A dog.", "Ein Hund."), ("Blue water", "Wasser"), ("A  dog.", "  ")]

    kept, lost = without(open_pairs(text), [("A dog.", "Ein Hund.")], alike=1)

    assert ([line.source for line in kept], lost) == (["Blue water"], 1)


def test_a_gap_and_another_file_end_what_a_line_can_read_before_it() -> None:
    texts = [
        [("I see a lamp.", "Licht"), ("A dog.", "Hund"), ("It is old.", "Alt")],
        [("She sleeps.", "Sie")],
    ]
    corpus = chained([open_pairs(text) for text in texts])
    kept, lost = without(corpus, [("A dog.", "Hund")], alike=1)
    rows = [row for shard in kept.shards for row in with_context(shard)]
    assert [(line.source, context.source) for line, context in rows] == [
        ("I see a lamp.", ""),
        ("It is old.", ""),
        ("She sleeps.", ""),
    ]
    assert lost == 1


def test_digits_do_not_tell_texts_apart() -> None:
    assert normal(" Page 3  of 12") == normal("page 4 of 99")
    assert SequenceMatcher(None, normal("Page 3"), "page 0").ratio() == 1


def test_nothing_held_out_takes_nothing_away() -> None:
    corpus = open_pairs(PAIRS)

    assert without(corpus, [], alike=0.8) == (corpus, 0)


def test_chunks_are_counted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    text = [*PAIRS[:7], ("A twin.", "Ein Zwilling."), *PAIRS[7:20]]
    monkeypatch.setattr("dragoman.training.runs.tuning.held_out._CHUNK", 3)

    kept, lost = without(open_pairs(text), [("A twin.", "Ein Zwilling.")], alike=1)

    assert (lost, [line[1:3] for line in kept]) == (1, PAIRS[:20])
    assert all(a.number < b.number for a, b in pairwise(kept))
