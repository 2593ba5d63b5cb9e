"""Runs that cannot give a model that translates: what is said before and after."""

from __future__ import annotations

import pytest

from dragoman.text import toy
from dragoman.text.corpora.corpus import open_pairs
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.data.mixture import Mixture
from dragoman.training.data.tokenised import TokenisedCorpus, tokenise
from dragoman.training.runs.doubts import doubts_after, doubts_before, marks_of_subwords
from dragoman.training.runs.recipe import Recipe, resolve

PAIRS = toy.pairs(seed=5, count=1200)


def recipe(*overrides: str) -> Recipe:
    return resolve(preset="tiny", overrides=["training.warmup=10", *overrides])


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[TokenisedCorpus, TokenisedCorpus]:
    """Texts of about 1,200 and of 400 pairs."""
    folder = tmp_path_factory.mktemp("doubts")
    tokenizer = Tokenizer.train(PAIRS, TokenizerConfig(vocab_size=400))
    every, few = (
        tokenise(open_pairs(pairs), tokenizer, FilterConfig(), folder / name, workers=1)
        for name, pairs in (("every", PAIRS), ("few", PAIRS[:400]))
    )
    return every, few


def tokens(*texts: TokenisedCorpus) -> int:
    return sum(
        len(side[row]) for text in texts for side in (text.source, text.target) for row in range(len(text))
    )


def test_a_run_that_can_work(texts: tuple[TokenisedCorpus, TokenisedCorpus]) -> None:
    assert doubts_before(recipe(), texts[0], vocabulary=400, processes=1) == []
    assert (
        doubts_before(recipe(), Mixture.replaying(texts[1], texts[0], 0.5), vocabulary=400, processes=1) == []
    )


def test_too_few_pairs(texts: tuple[TokenisedCorpus, TokenisedCorpus]) -> None:
    (line,) = doubts_before(recipe(), texts[1], vocabulary=400, processes=1)
    assert line.startswith(f"{len(texts[1])} training pairs: too few")
    started = 'teacher.models=["a"]', "teacher.start=true"
    for words in (["tuning.base=sha256:0"], started):
        assert doubts_before(recipe(*words), texts[1], vocabulary=9999, processes=1) == []


def test_a_vocabulary_of_whole_words(texts: tuple[TokenisedCorpus, TokenisedCorpus]) -> None:
    """Ten tokens of text for each entry are the least."""
    entries = tokens(texts[0]) // 10
    assert doubts_before(recipe(), texts[0], vocabulary=entries, processes=1) == []
    (line,) = doubts_before(recipe(), texts[0], vocabulary=entries + 1, processes=1)
    assert line.startswith(f"the vocabulary has {entries + 1:,} entries for {tokens(texts[0]):,} tokens")
    assert "tokenizer.vocab_size=" in line


@pytest.mark.parametrize(
    ("options", "updates"),
    [
        (["training.max_updates=400", "training.warmup=400"], 400),
        (["training.max_updates=401", "training.warmup=400"], None),
        (["training.max_epochs=1", "training.batch_tokens=1000", "training.warmup=1000"], 0),
        (["training.max_epochs=200", "training.batch_tokens=1000", "training.warmup=1000"], None),
    ],
)
def test_a_warm_up_longer_than_the_run(texts, options: list[str], updates: int | None) -> None:
    lines = doubts_before(recipe(*options), texts[0], vocabulary=400, processes=1)
    if updates is None:
        assert lines == []
        return
    updates = updates or -(-max(tokens_of_side(texts[0])) // 1000)
    (line,) = lines
    assert f"but the run has about {updates:,} updates" in line


def tokens_of_side(text: TokenisedCorpus) -> list[int]:
    return [sum(len(side[row]) for row in range(len(text))) for side in (text.source, text.target)]


def test_after_the_run() -> None:
    said = ["400 training pairs: too few"]
    assert doubts_after(said, recipe(), updates=100, bleu=25.0) == []  # it translates all the same
    assert doubts_after(said, recipe(), updates=100, bleu=None) == said
    assert doubts_after([], recipe(), updates=100, bleu=None) == []
    assert doubts_after(said, recipe(), updates=100, bleu=0.1)[1:] == said
    assert doubts_after([], recipe(), updates=100, bleu=0.1)[0].startswith("BLEU 0.1 on the validation text")
    (late,) = doubts_after([], recipe(), updates=10, bleu=None)  # stopped by the clock before the peak
    assert late.startswith("training.warmup = 10, but the run has about 10 updates")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("der klei@@ ne hund", True),
        ("\u2581der \u2581kleine \u2581hu nd", True),
        ("der hun@@", True),
        ("@@ steht allein", False),
        ("Schreib an a@@b.example", False),
        ("der kleine hund", False),
    ],
)
def test_text_that_is_cut_into_subwords(source: str, found: bool) -> None:
    text = [*([(source, "the dog")] * 3), *([("eine Katze", "a cat")] * 20)]
    line = marks_of_subwords(open_pairs(text))
    assert line.startswith("3 of the first 23 pairs have marks of subwords") == found
    assert bool(line) == found
    assert not marks_of_subwords(open_pairs([*text, *([("eine Katze", "a cat")] * 20)]))
