"""Marks of languages: one token each before a source, and never a part of other text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError, ModelError
from dragoman.text import toy
from dragoman.text.tokenizers.marks import mark, marks_among, split_marks
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig

PAIRS = toy.pairs(seed=3, count=120)
LANGUAGES = ("de", "zh-Hant", "en")
MARKS = {"de": 7, "en": 9}


def trained(**options: object) -> Tokenizer:
    config = TokenizerConfig(vocab_size=500, languages=LANGUAGES, placeholders=2, **options)  # type: ignore[arg-type]
    return Tokenizer.train(PAIRS, config)


@pytest.mark.parametrize(
    ("line", "ids", "texts", "rest"),
    [
        ("A dog.", [], [], "A dog."),
        (">>de<< A dog.", [7], [">>de<< "], "A dog."),
        (">>de<<A dog.", [7], [">>de<<"], "A dog."),
        (">>de<<  A dog.", [7], [">>de<< "], " A dog."),
        (">>en<< >>de<< A dog.", [9, 7], [">>en<< ", ">>de<< "], "A dog."),
        (">>en<<>>de<<", [9, 7], [">>en<<", ">>de<<"], ""),
        (">>fr<< A dog.", [], [], ">>fr<< A dog."),
        (" >>de<< A dog.", [], [], " >>de<< A dog."),
        ("", [], [], ""),
    ],
)
def test_marks_begin_a_line(line: str, ids: list[int], texts: list[str], rest: str) -> None:
    assert split_marks(line, MARKS) == (ids, texts, rest)


def test_the_marks_among_pieces() -> None:
    pieces = ["<pad>", mark("de"), "a", ">>", ">>zh-Hant<<", ">>de<<x"]
    assert marks_among(enumerate(pieces)) == {"de": 1, "zh-Hant": 4}


@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters"])
def test_a_mark_is_a_token_and_has_no_text(kind: str) -> None:
    tokenizer = trained(kind=kind)
    assert tokenizer.languages == LANGUAGES
    (plain,) = tokenizer.encode_source(["Der Hund ⟦1⟧ 狗"])
    (marked,) = tokenizer.encode_source([">>zh-Hant<< >>de<< Der Hund ⟦1⟧ 狗"])
    assert marked == [5, 4, *plain]
    assert tokenizer.source_pieces(marked)[:2] == [">>zh-Hant<<", ">>de<<"]
    assert tokenizer.decode(marked) == tokenizer.decode(plain) == "Der Hund ⟦1⟧ 狗"
    # In the middle of a text it is text.
    (inside,) = tokenizer.encode_source(["Der >>de<< Hund"])
    assert 4 not in inside
    assert tokenizer.decode(inside) == "Der >>de<< Hund"


@pytest.mark.parametrize("line", [">>en<< >>de<< Der Hund ë", ">>de<<Der Hund", ">>de<<", "Der Hund"])
def test_spans_of_a_line_with_marks(line: str) -> None:
    tokenizer = trained()
    (ids,) = tokenizer.encode_source([line])
    spans = tokenizer.source_spans(line)
    assert len(spans) == len(ids)
    words = {line[start:end] for start, end in spans if start < end}
    assert {one for one in words if one.startswith(">>")} <= {">>en<<", ">>de<<"}
    assert "".join(line[start:end] for start, end in spans) == line.replace(" ", "")


def test_marks_keep_their_case_where_text_is_lower_cased() -> None:
    tokenizer = trained(lowercase=True)
    line = ">>zh-Hant<< Der Hund"
    (ids,) = tokenizer.encode_source([line])
    assert ids == [5, *tokenizer.encode_source(["der hund"])[0]]
    start, end = tokenizer.source_spans(line)[0]
    assert line[start:end] == ">>zh-Hant<<"


def test_where_marks_go() -> None:
    before, both, first = trained(), trained(source_mark=True), trained(target_mark="target")
    assert (before.address("en", "de"), before.target_start("de")) == (">>de<< ", ())
    assert (both.address("en", "de"), both.target_start("de")) == (">>en<< >>de<< ", ())
    assert (first.address("en", "de"), first.target_start("de")) == ("", (4,))
    # A language without a mark is the only one of its side.
    assert before.address("en", "fr") == before.address(None, None) == ""
    assert first.target_start("fr") == first.target_start(None) == ()


def test_marks_are_saved(tmp_path: Path) -> None:
    tokenizer = trained(source_mark=True, target_mark="target")
    tokenizer.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert (loaded.languages, loaded.config) == (LANGUAGES, tokenizer.config)
    path = tmp_path / "tokenizer.json"
    table = json.loads(path.read_text())
    assert table["format_version"] == 5  # earlier releases refuse it
    table["config"]["languages"] = ["de", "fr"]
    path.write_text(json.dumps(table))
    with pytest.raises(ModelError, match="other languages than in the vocabulary"):
        Tokenizer.load(tmp_path)


def test_without_marks_the_files_are_those_of_earlier_releases(tmp_path: Path) -> None:
    Tokenizer.train(PAIRS, TokenizerConfig(vocab_size=400)).save(tmp_path)
    table = json.loads((tmp_path / "tokenizer.json").read_text())
    assert table["format_version"] == 1
    assert not {"languages", "source_mark", "target_mark"} & table["config"].keys()


def test_words_have_no_marks() -> None:
    with pytest.raises(ConfigError, match='"words" has no marks for de, en'):
        TokenizerConfig(kind="words", languages=("de", "en"))


def test_a_vocabulary_too_small_for_its_marks() -> None:
    with pytest.raises(
        ConfigError, match="at least 264: 4 ids are special and 256 ids are bytes and 3 ids are"
    ):
        TokenizerConfig(vocab_size=263, languages=LANGUAGES)
