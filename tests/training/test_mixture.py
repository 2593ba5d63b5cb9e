"""A text with a share of another in every epoch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.text import toy
from dragoman.text.corpus import open_pairs
from dragoman.text.filter import FilterConfig
from dragoman.text.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.mixture import Mixture
from dragoman.training.tokenised import TokenisedCorpus, tokenise

MAIN, GENERAL = toy.pairs(seed=3, count=60), toy.pairs(seed=4, count=14)
TOKENIZER = Tokenizer.train(MAIN, TokenizerConfig(vocab_size=400))


@pytest.fixture
def texts(tmp_path: Path) -> tuple[TokenisedCorpus, TokenisedCorpus]:
    main, general = (
        tokenise(open_pairs(pairs), TOKENIZER, FilterConfig(), tmp_path / name)
        for name, pairs in (("main", MAIN), ("general", GENERAL))
    )
    return main, general


def read(mixture: Mixture, epoch: int, seed: int = 1) -> list[tuple[str, str]]:
    source, target = mixture.epoch(epoch, seed=seed)
    assert len(source.lengths) == len(target.lengths) == len(mixture)
    assert [len(source[row]) for row in range(len(mixture))] == source.lengths.tolist()
    assert [len(target[row]) for row in range(len(mixture))] == target.lengths.tolist()
    return [
        (TOKENIZER.decode(source[row].tolist()), TOKENIZER.decode(target[row].tolist()))
        for row in range(len(mixture))
    ]


def test_an_epoch_has_the_main_text_and_the_share(texts: tuple[TokenisedCorpus, TokenisedCorpus]) -> None:
    mixture = Mixture.replaying(*texts, share=0.1)

    pairs = read(mixture, 0)

    assert len(mixture) == 67
    assert pairs[:60] == MAIN
    assert len(set(pairs[60:])) == 7
    assert set(pairs[60:]) <= set(GENERAL)
    assert len(pairs[60:]) / len(pairs) == pytest.approx(0.1, abs=0.01)


def test_epochs_go_through_the_general_text(texts: tuple[TokenisedCorpus, TokenisedCorpus]) -> None:
    mixture = Mixture.replaying(*texts, share=0.1)
    first, second, third = (read(mixture, epoch)[60:] for epoch in range(3))

    assert set(first) | set(second) == set(GENERAL)
    assert third == first
    assert first != read(mixture, 0, seed=2)[60:]


def test_a_share_larger_than_the_general_text_repeats_it(
    texts: tuple[TokenisedCorpus, TokenisedCorpus],
) -> None:
    general = read(Mixture.replaying(*texts, share=0.5), 0)[60:]

    assert len(general) == 60
    assert {general.count(pair) for pair in GENERAL} <= {4, 5}


def test_the_fingerprint_is_of_both_texts_and_the_share(
    texts: tuple[TokenisedCorpus, TokenisedCorpus],
) -> None:
    main, general = texts
    mixtures = [
        Mixture.replaying(main, general, 0.1),
        Mixture.replaying(general, main, 0.1),
        Mixture.replaying(main, general, 0.2),
    ]

    assert len({mixture.fingerprint for mixture in mixtures}) == 3
    assert np.array_equal(mixtures[0].parts[0].corpus.source.lengths, main.source.lengths)
