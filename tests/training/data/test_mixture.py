"""A text with a share of another in every epoch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from dragoman.text import toy
from dragoman.text.corpora.corpus import open_pairs
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.data import mixture
from dragoman.training.data.mixture import Mixture, Weighted
from dragoman.training.data.tokenised import TokenisedCorpus, tokenise

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


# Several texts with weights


def weighted(texts: tuple[TokenisedCorpus, TokenisedCorpus], first: float, second: float) -> Mixture:
    weights = zip(texts, (first, second), ("main", "web"), strict=True)
    return Mixture([Weighted(text, round(weight * len(text)), name) for text, weight, name in weights])


def test_a_weight_of_two_has_each_pair_twice(texts: tuple[TokenisedCorpus, TokenisedCorpus]) -> None:
    pairs = read(weighted(texts, 1.0, 2.0), 3)

    assert pairs[:60] == MAIN
    assert sorted(pairs[60:]) == sorted(GENERAL * 2)


def test_a_weight_of_a_half_has_other_halves(texts: tuple[TokenisedCorpus, TokenisedCorpus]) -> None:
    halves = weighted(texts, 0.5, 1.0)
    first, second = (read(halves, epoch)[:30] for epoch in range(2))

    assert sorted(first + second) == sorted(MAIN)
    assert read(halves, 0)[:30] == first != read(halves, 0, seed=2)[:30]
    assert read(halves, 0)[30:] == GENERAL


def test_halves_of_equal_texts_are_of_other_pairs(texts: tuple[TokenisedCorpus, TokenisedCorpus]) -> None:
    """As a text and its translations by a teacher are, which would have half of the sources in an epoch."""
    parts = read(weighted((texts[0], texts[0]), 0.5, 0.5), 0)

    assert len(set(parts[:30]) & set(parts[30:])) < 30


def test_a_large_text_is_chosen_from_by_blocks(
    texts: tuple[TokenisedCorpus, TokenisedCorpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixture, "LARGE", 50)
    monkeypatch.setattr(mixture, "BLOCK", 8)
    halves = weighted(texts, 0.5, 1.0)
    first, second = (read(halves, epoch)[:30] for epoch in range(2))

    assert sorted(first + second) == sorted(MAIN)
    assert any(MAIN[n : n + 8] == first[:8] for n in range(0, 60, 8))


def test_lengths_of_some_rows(texts: tuple[TokenisedCorpus, TokenisedCorpus]) -> None:
    source, _ = weighted(texts, 0.5, 2.0).epoch(1, seed=3)
    rows = np.array([57, 0, 29, 30, 31, 44])

    assert source.lengths_of(rows).tolist() == [len(source[row]) for row in rows.tolist()]


def test_the_report_names_each_text(texts: tuple[TokenisedCorpus, TokenisedCorpus]) -> None:
    report = weighted(texts, 1.0, 2.0).report

    assert "main: 60 pairs read, 60 kept" in report
    assert "web: 14 pairs read, 14 kept" in report
    assert weighted(texts, 1.0, 2.0).fingerprint != weighted(texts, 2.0, 2.0).fingerprint


def test_rows_of_either_text_know_their_lines(texts: tuple[TokenisedCorpus, TokenisedCorpus]) -> None:
    mixture = Mixture.replaying(*texts, 0.1)
    (added,) = [read(mixture, 2)[row] for row in (61,)]
    line = GENERAL.index(added) + 1

    assert mixture.whereabouts([61, 3], epoch=2, seed=1) == f"line 4 of pairs; line {line} of pairs"
    assert mixture.whereabouts([61], epoch=2, seed=1) == f"line {line} of pairs"


class Numbers:
    """Lessons that say which row they are of."""

    share = 0.25

    def __init__(self, first: int) -> None:
        self._first = first

    def __getitem__(self, row: int) -> np.ndarray[Any, Any]:
        return np.array([self._first + row])


def test_tokens_of_the_targets_of_either_text(texts: tuple[TokenisedCorpus, TokenisedCorpus]) -> None:
    found = Mixture.replaying(*texts, share=0.1).in_targets(TOKENIZER.target_size)

    wanted = {TOKENIZER.end_id}
    for _, target in MAIN + GENERAL:
        wanted.update(TOKENIZER.encode_target([target])[0])
    assert set(np.flatnonzero(found).tolist()) == wanted
    assert len(wanted) < TOKENIZER.target_size
    assert not np.array_equal(found, texts[1].in_targets(TOKENIZER.target_size))


def test_lessons_go_with_their_rows(texts: tuple[TokenisedCorpus, TokenisedCorpus]) -> None:
    """Also where an epoch has a half of a text, in an order of its own."""
    main, general = texts
    mixture = weighted(texts, 1.0, 0.5)
    assert mixture.lessons_of(0, seed=1) is None
    main.lessons = cast(Any, Numbers(0))
    assert mixture.lessons_of(0, seed=1) is None
    general.lessons = cast(Any, Numbers(1000))

    for epoch in (0, 1):
        lessons = mixture.lessons_of(epoch, seed=1)
        assert lessons is not None
        assert lessons.share == 0.25
        source, _ = mixture.epoch(epoch, seed=1)
        for row in range(len(mixture)):
            (number,) = lessons[row]
            text = main if number < 1000 else general
            np.testing.assert_array_equal(source[row], text.source[int(number) % 1000])


def test_marks_before_sources_and_targets_and_swapped_pairs(
    texts: tuple[TokenisedCorpus, TokenisedCorpus],
) -> None:
    main, general = texts
    mixture = Mixture(
        [
            Weighted(main, len(main), "main", marks=(7, 8), start=(9,)),
            Weighted(general, len(general), "general", marks=(5,), swapped=True),
        ]
    )
    source, target = mixture.epoch(0, seed=1)
    first, last = 0, len(main)
    assert source[first].tolist() == [7, 8, *main.source[0].tolist()]
    assert target[first].tolist() == [9, *main.target[0].tolist()]
    assert source[last].tolist() == [5, *general.target[0].tolist()]
    assert target[last].tolist() == general.source[0].tolist()
    assert source.lengths.tolist() == [len(source[row]) for row in range(len(mixture))]
    assert target.lengths_of(np.array([first, last])).tolist() == [len(target[first]), len(target[last])]
    assert mixture.report.splitlines() == [f"main: {main.report}"]
    found = mixture.in_targets(TOKENIZER.target_size)
    assert {9, TOKENIZER.end_id, *main.target[0].tolist(), *general.source[0].tolist()} <= {
        *np.flatnonzero(found).tolist()
    }
    plain = Mixture([Weighted(main, len(main)), Weighted(general, len(general))])
    others = [
        Mixture([Weighted(main, len(main), **more), Weighted(general, len(general))])  # type: ignore[arg-type]
        for more in ({"marks": (7,)}, {"start": (7,)}, {"swapped": True})
    ]
    assert len({one.fingerprint for one in (plain, mixture, *others)}) == 5
