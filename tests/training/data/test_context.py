"""Corpora that a model reads with context and formality."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.text.corpora.corpus import Corpus, open_pairs
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.guidance import marks_of
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.data.leakage import also_in
from dragoman.training.data.tokenised import TokenisedCorpus, is_made_from, tokenise
from dragoman.training.options import Annotating

# "It is old." has one translation behind a lamp and another behind a table; both repeat in other contexts.
THINGS = [
    ("The lamp is here.", "Die Lampe ist hier.", "Sie"),
    ("The table is here.", "Der Tisch ist hier.", "Er"),
]
PAIRS = [
    pair
    for number in range(6)
    for source, target, pronoun in THINGS
    for pair in [
        (source.replace("here", f"here {number}"), target.replace("hier", f"hier {number}")),
        ("It is old.", f"{pronoun} ist alt."),
        ("", ""),
    ]
]
HOW = Annotating(context=0.5, target_language="de")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([pair for pair in PAIRS if pair[0]], TokenizerConfig(vocab_size=340))


def made(
    tokenizer: Tokenizer, folder: Path, how: Annotating, pairs: list[tuple[str, str]] = PAIRS
) -> TokenisedCorpus:
    return tokenise(open_pairs(pairs), tokenizer, FilterConfig(), folder, annotating=how)


def test_a_share_of_the_pairs_is_read_in_context(tokenizer: Tokenizer, tmp_path: Path) -> None:
    corpus = made(tokenizer, tmp_path, HOW)
    marks = marks_of(tokenizer)
    assert marks is not None
    read = plain = 0
    for epoch in range(4):
        source, target = corpus.epoch(epoch, seed=1)
        for row in range(len(corpus)):
            tokens, translation = source[row].tolist(), tokenizer.decode(target[row].tolist())
            line, _, context = tokenizer.decode(
                [one if one != marks.context else tokenizer.encode_source(["|"])[0][-1] for one in tokens]
            ).partition("|")
            if "old" in line and context:
                assert ("lamp" in context) == translation.startswith("Sie")
                assert ("table" in context) == translation.startswith("Er")
            read += bool(context)
            plain += not context
        again, _ = TokenisedCorpus(tmp_path, tokenizer, annotating=HOW).epoch(epoch, seed=1)
        assert [source[n].tolist() for n in range(len(corpus))] == [
            again[n].tolist() for n in range(len(corpus))
        ]
    # Every second pair begins a document, and has no context.
    assert read + plain == 4 * 24
    assert 12 < read < 36


def test_the_same_pair_in_another_context_is_no_duplicate(tokenizer: Tokenizer, tmp_path: Path) -> None:
    assert len(made(tokenizer, tmp_path / "plain", Annotating())) == 14
    assert len(made(tokenizer, tmp_path / "context", HOW)) == 24
    assert len(made(tokenizer, tmp_path / "twice", HOW, [*PAIRS, *PAIRS])) == 24


def test_pairs_are_found_again_and_changes_noticed(tokenizer: Tokenizer, tmp_path: Path) -> None:
    made(tokenizer, tmp_path, HOW)
    assert also_in([PAIRS[1], PAIRS[0], ("It is old.", "Es ist alt.")], [tmp_path]) == 2
    assert is_made_from(open_pairs(PAIRS), tmp_path)
    lines = [*open_pairs(PAIRS)]
    other = Corpus("pairs", lambda: (one._replace(document=str(n)) for n, one in enumerate(lines)))
    assert is_made_from(other, tmp_path) is False  # each pair is a document


def test_a_stopped_run_leaves_out_the_same_duplicates(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digests of contexts are made again from the unfinished files."""
    monkeypatch.setattr(TokenisedCorpus, "CHUNK", 5)
    pairs = [*PAIRS, *PAIRS]
    whole = made(tokenizer, tmp_path / "whole", HOW, pairs)

    def broken() -> Corpus:
        def lines():  # type: ignore[no-untyped-def]
            yield from [*open_pairs(pairs)][:23]
            raise KeyboardInterrupt

        return Corpus("pairs", lines)

    import dragoman.base.jobs as jobs

    monkeypatch.setattr(jobs.GrowingFiles, "due", property(lambda self: True))
    with pytest.raises(KeyboardInterrupt):
        tokenise(broken(), tokenizer, FilterConfig(), tmp_path / "stopped", annotating=HOW)
    messages: list[str] = []
    resumed = tokenise(
        open_pairs(pairs),
        tokenizer,
        FilterConfig(),
        tmp_path / "stopped",
        annotating=HOW,
        progress=messages.append,
    )
    assert any("resumes after 20 pairs" in one for one in messages)
    assert len(resumed) == len(whole) == 24
    assert resumed.fingerprint == whole.fingerprint


def test_both_sides_of_the_context(tokenizer: Tokenizer, tmp_path: Path) -> None:
    how = Annotating(context=1.0, context_target=True, target_language="de")
    marks = marks_of(tokenizer)
    assert marks is not None
    source, _ = made(tokenizer, tmp_path, how).epoch(0, seed=1)
    tokens = source[1].tolist()
    before, after = tokens.index(marks.context) + 1, tokens.index(marks.translated)
    assert tokenizer.decode(tokens[before:after]) == "The lamp is here 0."
    assert tokenizer.decode(tokens[after + 1 :]) == "Die Lampe ist hier 0."
    assert how.names == ("context", "context target")


def test_formality_is_that_of_the_target(tokenizer: Tokenizer, tmp_path: Path) -> None:
    pairs = [("Do you see it?", "Sehen Sie es?"), ("Do you have it?", "Hast du es?"), ("It is.", "Es ist.")]
    how = Annotating(formality=1.0, target_language="de")
    source, _ = made(tokenizer, tmp_path, how, pairs).epoch(0, seed=1)
    marks = marks_of(tokenizer)
    assert marks is not None
    assert [source[row].tolist()[0] for row in range(2)] == [marks.formal, marks.informal]
    assert not set(source[2].tolist()) & set(marks)


def test_a_context_that_is_no_longer_kept_is_removed(tokenizer: Tokenizer, tmp_path: Path) -> None:
    made(tokenizer, tmp_path, HOW)
    made(tokenizer, tmp_path, Annotating())
    assert is_made_from(open_pairs(PAIRS), tmp_path)
