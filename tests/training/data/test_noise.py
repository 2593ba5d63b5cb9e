"""Corpora with noise: a function of seed, epoch and row, in step on both sides."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from dragoman.text import toy
from dragoman.text.corpora.corpus import open_pairs
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.guidance import marks_of
from dragoman.text.noise import noised
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.data.tokenised import TokenisedCorpus, digest_of_options, tokenise
from dragoman.training.options import NOTHING, Annotating

PAIRS = [(f"{source} {{x}}", f"{target} {{x}}") for source, target in toy.pairs(seed=5, count=120)]
NOISY = Annotating(noise=0.4, source_language="en", target_language="de")
KEEP = FilterConfig(drop_duplicates=False)
TOKENIZER = Tokenizer.train(PAIRS, TokenizerConfig(vocab_size=500, placeholders=3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train")
    tokenise(open_pairs(PAIRS), TOKENIZER, KEEP, folder, annotating=NOISY)
    return folder


def texts(corpus: TokenisedCorpus, epoch: int, seed: int = 1) -> list[tuple[str, str]]:
    """The pairs of an epoch; the vocabulary is one for both sides."""
    source, target = corpus.epoch(epoch, seed=seed)
    return [
        (TOKENIZER.decode(source[row].tolist()), TOKENIZER.decode(target[row].tolist()))
        for row in range(len(source))
    ]


def test_a_share_of_the_pairs_has_noise_on_both_sides(folder: Path) -> None:
    corpus = TokenisedCorpus(folder, TOKENIZER, annotating=NOISY)
    counts = []
    for epoch in range(3):
        pairs = texts(corpus, epoch)
        changed = [row for row, pair in enumerate(pairs) if pair != PAIRS[row]]
        for row in changed:
            assert pairs[row] == noised(PAIRS[row], f"1 {epoch} {row}", languages=("en", "de"))
        assert any(pairs[row][1] != PAIRS[row][1] for row in changed)
        counts.append(len(changed))
    assert sum(counts) / 3 / len(PAIRS) == pytest.approx(0.4, abs=0.1)


def test_an_epoch_is_a_function_of_its_number_and_the_seed(folder: Path, tmp_path: Path) -> None:
    first, second, other = (
        texts(TokenisedCorpus(folder, TOKENIZER, annotating=NOISY), epoch, seed)
        for epoch, seed in ((0, 1), (1, 1), (0, 2))
    )
    assert first != second
    assert first != other
    tokenise(open_pairs(PAIRS), TOKENIZER, KEEP, tmp_path, annotating=NOISY)
    assert texts(TokenisedCorpus(tmp_path, TOKENIZER, annotating=NOISY), 0) == first


def test_without_noise_nothing_changes(folder: Path, tmp_path: Path) -> None:
    """Tokens made for noise are those of text without it; earlier tokens are still used."""
    plain = TokenisedCorpus(folder, TOKENIZER)
    assert plain.epoch(0, seed=1) == (plain.source, plain.target)
    tokenise(open_pairs(PAIRS), TOKENIZER, KEEP, tmp_path)
    for name in ("source.tokens", "target.tokens", "copied"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    assert repr(NOTHING) == "Annotating(terms=0.0, matches=0.0, target_language='')"
    digests = {digest_of_options(TOKENIZER, KEEP, how) for how in (NOTHING, Annotating(noise=0.1))}
    assert len(digests) == 2  # without noise the folder may lack the text


def test_pairs_with_noise_have_no_pieces_and_others_do(folder: Path) -> None:
    corpus = TokenisedCorpus(folder, TOKENIZER, placeholders=1.0, annotating=NOISY)
    pieces, _ = TOKENIZER.placeholders
    source, target = corpus.epoch(0, seed=1)
    plain = texts(TokenisedCorpus(folder, TOKENIZER, annotating=NOISY), 0)
    for row, pair in enumerate(plain):
        drawn = [{*side[row].tolist()} & {*pieces} for side in (source, target)]
        assert drawn[0] == drawn[1]
        assert bool(drawn[0]) == (pair == PAIRS[row])


def test_noise_goes_together_with_notes(tmp_path: Path) -> None:
    how = Annotating(terms=1.0, noise=0.5, source_language="en", target_language="de")
    corpus = tokenise(open_pairs(PAIRS), TOKENIZER, KEEP, tmp_path, annotating=how)
    marks = marks_of(TOKENIZER)
    assert marks is not None
    source, _ = corpus.epoch(0, seed=1)
    noted = {row for row in range(len(PAIRS)) if marks.term in source[row]}
    noisy = {row for row in range(len(PAIRS)) if Random(f"1 0 {row} noise").random() < 0.5}
    assert not noted & noisy
    assert len(noted) > 20
    for row in noisy:
        expected = noised(PAIRS[row], f"1 0 {row}", languages=("en", "de"))[0]
        assert TOKENIZER.decode(source[row].tolist()) == expected
