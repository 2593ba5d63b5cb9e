"""Corpora that a model reads with notes and matches: a function of seed, epoch and row."""

from itertools import pairwise
from pathlib import Path

import pytest
from tests.text.lexicon.test_term_pairs import PAIRS as SENTENCES

from dragoman.base.errors import ConfigError
from dragoman.text.corpora.corpus import open_pairs
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.guidance import Guidance, Note, marks_of
from dragoman.text.tokenizers.copied import copied
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.data.annotations import moved
from dragoman.training.data.ragged import Ragged
from dragoman.training.data.tokenised import TokenisedCorpus, tokenise
from dragoman.training.options import Annotating

PAIRS = [*dict.fromkeys(SENTENCES)]
BOTH = Annotating(terms=0.5, matches=0.5, target_language="de")
KEEP = FilterConfig(drop_duplicates=False)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(PAIRS, TokenizerConfig(vocab_size=400))


@pytest.fixture(scope="module")
def folder(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train")
    tokenise(open_pairs(PAIRS), tokenizer, KEEP, folder, annotating=BOTH)
    return folder


def rows(side: Ragged) -> list[list[int]]:
    return [side[row].tolist() for row in range(len(side))]


def epoch(
    folder: Path, tokenizer: Tokenizer, number: int, seed: int, how: Annotating = BOTH
) -> list[list[int]]:
    """What the model reads in an epoch, as another process would see it."""
    return rows(TokenisedCorpus(folder, tokenizer, annotating=how).epoch(number, seed=seed)[0])


def test_an_epoch_is_a_function_of_its_number_and_the_seed(
    folder: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    first = epoch(folder, tokenizer, 0, 1)
    assert epoch(folder, tokenizer, 1, 1) != first
    assert epoch(folder, tokenizer, 0, 2) != first
    tokenise(open_pairs(PAIRS), tokenizer, KEEP, tmp_path, annotating=BOTH)
    assert epoch(tmp_path, tokenizer, 0, 1) == epoch(folder, tokenizer, 0, 1) == first


def test_the_line_itself_and_the_target_stay(folder: Path, tokenizer: Tokenizer) -> None:
    marks = marks_of(tokenizer)
    assert marks is not None
    corpus = TokenisedCorpus(folder, tokenizer, annotating=BOTH)
    source, target = corpus.epoch(3, seed=1)
    assert target is corpus.target
    hidden = whole = 0
    for plain, read in zip(rows(corpus.source), rows(source), strict=True):
        own, inside = list[int | None](), False
        for before, token in pairwise([-1, *read]):
            if token == marks.match:
                break
            inside = (inside or token == marks.translated) and token != marks.end
            if before == marks.term and token == marks.translated:
                own.append(None)  # a hidden term
            if not inside and token not in marks:
                own.append(token)
        gaps = own.count(None)
        assert len(own) <= len(plain)
        hidden += gaps
        whole += own == plain
        rest = iter(plain)  # what is left of the line is in order
        assert all(token in rest for token in own if token is not None)
    assert min(hidden, whole) > 20


def test_notes_and_matches_are_right(folder: Path, tokenizer: Tokenizer) -> None:
    """A note has the stem of a word of the target; a match is the target of another pair."""
    marks = marks_of(tokenizer)
    assert marks is not None
    targets = {target for _, target in PAIRS}
    seen = [0, 0]
    for pair, read in zip(PAIRS, epoch(folder, tokenizer, 0, 1), strict=True):
        if marks.match in read:
            place = read.index(marks.match)
            match = tokenizer.decode(read[place + 1 :])
            assert match in targets - {pair[1]}
            assert len(set(match.split()) & set(pair[1].split())) >= 2
            read, seen[0] = read[:place], seen[0] + 1
        while marks.term in read:
            begin, between, end = (read.index(mark) for mark in marks[:3])
            text, term = (
                tokenizer.decode(part) for part in (read[between + 1 : end], read[begin + 1 : between])
            )
            assert term in pair[0]  # hidden ones are empty
            assert all(word[:-1] in pair[1] for word in text.split())
            read, seen[1] = read[end + 1 :], seen[1] + 1
    assert min(seen) > 50


@pytest.mark.parametrize("name", ["terms", "matches"])
def test_a_share_of_the_pairs_is_annotated(folder: Path, tokenizer: Tokenizer, name: str) -> None:
    marks = marks_of(tokenizer)
    assert marks is not None
    mark = marks.term if name == "terms" else marks.match
    for share in (0.2, 1.0):
        how = Annotating(target_language="de", **{name: share})
        read = epoch(folder, tokenizer, 0, 1, how)
        other = marks.match if name == "terms" else marks.term
        assert not any(other in row for row in read)
        assert sum(mark in row for row in read) / len(read) == pytest.approx(share, abs=0.06)
    corpus = TokenisedCorpus(folder, tokenizer)
    assert corpus.epoch(0, seed=1) == (corpus.source, corpus.target)


def test_sampling_and_placeholders_go_together_with_notes(tmp_path: Path) -> None:
    pairs = [(f"{source[:-1]} {{x}} now.", f"{{x}} {target}") for source, target in PAIRS]
    tokenizer = Tokenizer.train(pairs, TokenizerConfig(vocab_size=400, sampling=0.2, placeholders=4))
    marks = marks_of(tokenizer)
    assert marks is not None
    how = Annotating(terms=1.0, target_language="de")
    tokenise(open_pairs(pairs), tokenizer, KEEP, tmp_path, annotating=how)
    corpus = TokenisedCorpus(tmp_path, tokenizer, placeholders=0.5, annotating=how)
    source, target = map(rows, corpus.epoch(0, seed=1))
    assert source == rows(corpus.epoch(0, seed=1)[0])
    pieces, theirs = tokenizer.placeholders
    masked = 0
    for pair, read, out in zip(pairs, source, target, strict=True):
        begin, between = read.index(marks.term), read.index(marks.translated)
        assert tokenizer.decode(read[begin + 1 : between]) in pair[0]
        ours = [pieces.index(token) for token in read if token in pieces]
        assert sorted(ours) == sorted(theirs.index(token) for token in out if token in theirs)
        masked += bool(ours)
    assert 0.3 < masked / len(pairs) < 0.7


def test_a_vocabulary_without_bytes_is_refused(tmp_path: Path) -> None:
    words = Tokenizer.train(PAIRS, TokenizerConfig(kind="words"))
    with pytest.raises(ConfigError, match=r"data\.matches: this vocabulary has no bytes"):
        tokenise(open_pairs(PAIRS), words, KEEP, tmp_path, annotating=Annotating(matches=0.5))
    assert not [*tmp_path.iterdir()]


def test_notes_move_with_the_text() -> None:
    line = "Press %s in Calc now"
    changes = [(*one.source, "⟦1⟧") for one in copied(line, "%s Calc")]
    notes = Note(0, 5, "a"), Note(6, 8, "b"), Note(12, 16, "c"), Note(17, 20, "d")
    assert moved(Guidance(notes=notes), changes).notes == (Note(0, 5, "a"), Note(17, 20, "d"))
    assert moved(Guidance(notes=notes), [(6, 8, "⟦10⟧")]).notes == (
        Note(0, 5, "a"), Note(14, 18, "c"), Note(19, 22, "d"),
    )  # fmt: skip
