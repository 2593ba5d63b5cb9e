"""How alike two segments are, against the definition."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.translation.memory.similarity import keys, likeness, single_spaced, units

TEXT = st.text("ab .,12é文件", max_size=12)


def edits(one: Sequence[str], other: Sequence[str]) -> int:
    """Wagner and Fischer 1974."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


def share(one: Sequence[str], other: Sequence[str]) -> float:
    return 1 - edits(one, other) / max(len(one), len(other), 1)


@given(TEXT, TEXT)
def test_it_is_the_mean_over_words_and_characters(one: str, other: str) -> None:
    expected = 50 * (share(units(one), units(other)) + share(one, other))
    assert likeness(one, other) == pytest.approx(expected if one == other else min(expected, 99.9))
    assert likeness(one, other) == likeness(other, one)


@given(TEXT, TEXT, st.floats(1, 100))
def test_what_is_below_the_least_is_0(one: str, other: str, least: float) -> None:
    whole = likeness(one, other)
    assert likeness(one, other, least) == (whole if whole >= least else 0)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Save the file.", "Save the file.", 100),
        ("Save the file.", "Save the files.", 84.2),  # 1 of 4 words, 1 of 15 characters
        ("Page 3 of 10", "Page 4 of 10", 83.3),
        ("save the file.", "Save the file.", 83.9),
        ("打开文件", "打开文档", 75),
        ("Bold", "Fold", 37.5),
        ("A dog.", "Something else entirely", 2.2),
        ("a", "", 0),
    ],
)
def test_examples(one: str, other: str, expected: float) -> None:
    assert likeness(one, other) == pytest.approx(expected, abs=0.05)


def test_only_equal_texts_have_100() -> None:
    long = "word " * 2000
    assert likeness(long + "a", long + "b") == 99.9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't open 3.5 files...", ["Don", "'", "t", "open", "3", ".", "5", "files", "..."]),
        ("打开 file_1！", ["打", "开", "file_", "1", "！"]),
        ("", []),
    ],
)
def test_words_numbers_and_marks_are_units(text: str, expected: list[str]) -> None:
    assert list(units(text)) == expected


def test_space_is_normalised_and_nothing_else() -> None:
    assert single_spaced("  Save\u00a0the\n\tfile ") == "Save the file"
    assert single_spaced("u\u0308ber") == single_spaced("\u00fcber")
    assert single_spaced("Ab 1") != single_spaced("ab 1")


def test_keys_are_words_and_pairs_of_them() -> None:
    assert keys("The dog sees the cat.") == [
        "the", "dog", "the dog", "sees", "dog sees", "sees the", "cat", "the cat",
    ]  # fmt: skip
    assert keys("打开文件 now") == ["打开", "开文", "文件", "打开文", "开文件", "now"]
    assert keys("打开 文件") == keys("打开文件")
    assert keys("文") == ["文"]
    assert keys("?! ...") == []


@given(st.lists(st.sampled_from(["one", "two", "three"]), max_size=6))
def test_every_pair_of_neighbours_is_a_key(words: list[str]) -> None:
    found = keys(" ".join(words))
    assert {*words} | {f"{a} {b}" for a, b in pairwise(words)} == {*found}
    assert not re.search("[A-Z]", "".join(found))
