"""Pairs to measure with that are training pairs: counted by digests, compared with a count of the text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.training.small_runs import pairs

from dragoman.text.corpora.corpus import open_pairs
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.data import leakage as module
from dragoman.training.data.leakage import also_in, leakage
from dragoman.training.data.tokenised import tokenise

Pairs = list[tuple[str, str]]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(pairs(200), TokenizerConfig(kind="words", vocab_size=14))


def texts(chance: random.Random) -> tuple[Pairs, Pairs]:
    """Training and validation pairs of a few words, so that many are equal, with spaces and empty sides."""

    def pair() -> tuple[str, str]:
        return tuple(  # type: ignore[return-value]
            chance.choice(["", " "]) + " ".join(chance.choices("abc", k=chance.choice([0, 1, 2, 2, 3, 3])))
            for _ in range(2)
        )

    return [pair() for _ in range(150)], [pair() for _ in range(80)]


@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("block", [7, 1 << 18])
def test_the_number_of_pairs_is_exact(
    unique: bool, block: int, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK", block)
    for seed in range(3):
        first, measured = texts(random.Random(seed))
        second, _ = texts(random.Random(f"other {seed}"))
        folders = [tmp_path / f"{seed} {number}" for number in range(2)]
        for folder, text in zip(folders, (first, second), strict=True):
            keep = FilterConfig(drop_duplicates=unique)
            tokenise(open_pairs(text), tokenizer, keep, folder, workers=1)
        learnt = {(a.strip(), b.strip()) for a, b in (*first, *second) if a.strip() and b.strip()}
        learnt |= {(b, a) for a, b in learnt}  # also the other way round
        expected = sum((a.strip(), b.strip()) in learnt for a, b in measured)
        assert 10 < expected < 80

        assert also_in(measured, folders) == expected
        assert also_in(measured, []) == also_in([], folders) == also_in([("", "a")], folders) == 0
        assert leakage(measured, folders, what="test").startswith(
            f"{expected} of 80 test pairs are also in the training text"
        )


def test_what_the_filter_left_out_is_not_training_text(tokenizer: Tokenizer, tmp_path: Path) -> None:
    text = [("a b a b", "c"), ("a", "b")]
    tokenise(open_pairs(text), tokenizer, FilterConfig(max_length=2), tmp_path, workers=1)
    assert also_in(text, [tmp_path]) == 1
    assert leakage(text, [tmp_path], what="test").startswith("1 of 2 test pairs is also")
    assert leakage([("a", "c"), ("A", "b"), ("a", "b.")], [tmp_path], what="test") == ""


def test_a_pair_counts_once_in_whichever_order_its_sides_are(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenise(open_pairs([("a", "b"), ("b", "a"), ("a", "c")]), tokenizer, FilterConfig(), tmp_path, workers=1)
    assert also_in([("a", "b")], [tmp_path]) == 1
    assert also_in([("c", "a"), ("c ", " a"), ("c", "b")], [tmp_path]) == 2


def test_text_of_earlier_releases_has_no_digests(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenise(open_pairs([("a", "b")]), tokenizer, FilterConfig(), tmp_path, workers=1)
    (tmp_path / "seen").unlink()
    assert also_in([("a", "b")], [tmp_path]) == 0
