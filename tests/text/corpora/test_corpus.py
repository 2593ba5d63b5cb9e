"""Pairs are read from wherever they are, and each one set aside is counted."""

import gzip
import io
import sys
from pathlib import Path

import pytest
from tests.text.corpora.test_compressed import zstd

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.text.corpora.corpus import Corpus, Line, open_corpus, open_pairs, read_lines

LINES = [Line(1, "a dog", "ein Hund"), Line(2, "你好啊。", "مرحبا 👩‍🚀")]


def write(folder: Path, name: str, text: str) -> Path:
    data = text.encode()
    path = folder / name
    packed = {".gz": gzip.compress, ".zst": zstd.compress}.get(path.suffix, bytes)
    path.write_bytes(packed(data))
    return path


def languages(corpus: Corpus) -> tuple[str | None, str | None]:
    return corpus.source_language, corpus.target_language


# Where pairs come from


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
def test_two_files(tmp_path: Path, packed: str) -> None:
    source = write(tmp_path, f"train.en{packed}", "a dog\n你好啊。\n")
    target = write(tmp_path, f"train.de{packed}", "ein Hund\nمرحبا 👩‍🚀\n")
    corpus = open_corpus([source, str(target)])

    assert list(corpus) == list(corpus) == LINES
    assert languages(corpus) == ("en", "de")
    assert corpus.name == f"{source} and {target}"


@pytest.mark.parametrize(
    "name", ["train.en-de.tsv", "train.en-de.tsv.gz", "train.en-de.tsv.zst", "TRAIN.TSV"]
)
def test_tsv(tmp_path: Path, name: str) -> None:
    corpus = open_corpus([write(tmp_path, name, "a dog\tein Hund\n你好啊。\tمرحبا 👩‍🚀\n")])

    assert list(corpus) == list(corpus) == LINES
    assert languages(corpus) == (("en", "de") if "en-de" in name else (None, None))


@pytest.mark.parametrize(
    ("name", "head", "named"),
    [
        ("t.tsv", "source\ttarget", (None, None)),
        ("t.tsv", "src_text\tTGT text", (None, None)),
        ("t.en-de.tsv", "Source sentence\tTranslation", ("en", "de")),
        ("t.en-de.tsv", "en\tde", ("en", "de")),
        ("t.en-de.tsv", "eng\tDeutsch", None),
        ("t.en-de.tsv", "eng\tdeu", ("en", "de")),
        ("t.tsv", "en\tde", ("en", "de")),
        ("t.tsv", '"English"\t"German"', ("en", "de")),
        ("t.tsv", "English sentence\tGerman_text", ("en", "de")),
        ("t.tsv", "en-US\tpt_BR", ("en", "pt")),
        ("t.tsv", "sentence_en\tsentence_de", ("en", "de")),
        ("t.tsv", "source_en\ttarget_de", ("en", "de")),
        ("t.tsv", "src\tde", (None, "de")),
        ("t.tsv", "English (US)\tGerman", ("en", "de")),
        ("t.tsv", "English sentence\tGerman translation", ("en", "de")),
        ("t.tsv", "source text (en)\ttarget text (de)", ("en", "de")),
        ("t.tsv", "Translation\tde", None),
        ("t.tsv", "in English\ten anglais", None),
        ("t.tsv", "The English text\tDer deutsche Text", None),
        ("t.tsv", "text\ttext", None),
        ("t.en-es.tsv", "is\tes", None),  # words, for the name says which languages these are
        ("t.tsv", "the\tder", None),
        ("t.tsv", "no\tno", None),
        ("t.tsv", "The source is here.\tDie Quelle ist hier.", None),
        ("t.tsv", "source\tQuelle", None),
    ],
)  # fmt: skip
def test_the_head_line_of_a_table_is_not_a_pair(tmp_path, caplog, name: str, head: str, named) -> None:
    corpus = open_corpus([write(tmp_path, name, f"{head}\na dog\tein Hund\n")])

    assert [line.number for line in corpus] == ([1, 2] if named is None else [2])
    assert [*corpus][-1] == Line(2, "a dog", "ein Hund")
    if named is None:
        assert not caplog.messages
    else:
        assert languages(corpus) == named
        (message,) = caplog.messages
        assert message.endswith(
            f"{name}: line 1 names the columns ({', '.join(head.split(chr(9)))}) and is not a pair"
        )


@pytest.mark.parametrize(
    "head",
    ["target\tsource", "Translation\tOriginal", "tgt_text\tsrc_text", "target text (de)\tsource text (en)"],
)
def test_a_head_line_that_names_the_target_first_is_refused(tmp_path: Path, head: str) -> None:
    with pytest.raises(DataError, match="the target is the first column"):
        open_corpus([write(tmp_path, "t.tsv", f"{head}\nein Hund\ta dog\n")])


def test_a_head_line_may_say_that_the_columns_are_swapped(tmp_path: Path) -> None:
    path = write(tmp_path, "t.tsv", "de\ten\nein Hund\ta dog\n")
    with pytest.raises(DataError, match="from de to en, but the languages are from en to de"):
        open_corpus([path], languages=("en", "de"))


@pytest.mark.parametrize("name", ["train.jsonl", "train.jsonl.gz", "train.ndjson", "train.en-de.jsonl"])
def test_jsonl(tmp_path: Path, name: str) -> None:
    text = '{"de": "ein Hund", "en": "a dog"}\n{"en": "你好啊。", "de": "مرحبا 👩‍🚀"}\n'
    path = write(tmp_path, name, text)
    corpus = open_corpus([path], languages=("en", "de") if name.startswith("train.n") else (None, None))

    if name in ("train.jsonl", "train.jsonl.gz"):  # nothing says otherwise, so the first key is the source
        assert languages(corpus) == ("de", "en")
        assert next(iter(corpus)) == Line(1, "ein Hund", "a dog")
    else:
        assert languages(corpus) == ("en", "de")
        assert list(corpus) == list(corpus) == LINES


def test_standard_input_is_tsv_that_can_be_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    data = "a dog\tein Hund\n你好啊。\tمرحبا 👩‍🚀\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
    corpus = open_corpus(["-"])

    assert list(corpus) == list(corpus) == LINES
    assert corpus.name == "standard input"


def test_pairs_in_memory() -> None:
    corpus = open_pairs([("a dog", "ein Hund"), ("你好啊。", "مرحبا 👩‍🚀")])

    assert list(corpus) == list(corpus) == LINES
    assert languages(corpus) == (None, None)
    assert list(open_pairs(iter([("two\nlines", "x")]))) == [Line(1, "two lines", "x")]


def test_what_the_user_says_of_languages_goes_before_names(tmp_path: Path) -> None:
    path = write(tmp_path, "train.en-de.tsv", "a\tb\n")

    assert languages(open_corpus([path], languages=("en-GB", None))) == ("en-GB", "de")


def test_one_side_of_a_file(tmp_path: Path) -> None:
    assert list(read_lines(write(tmp_path, "x.en", "one\n\nthree\n"))) == ["one", "", "three"]


# What cannot be read


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no files"),
        (["train.en"], "only one side"),
        (["a.en", "b.jsonl.gz"], "not a pair of text files"),
        (["-", "b.de"], "not a pair of text files"),
        (["a", "b", "c"], "3 files: a, b, c"),
        (["a.tsv", "-"], "not a pair of text files"),
    ],
)
def test_unclear_requests(names: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        open_corpus(names)
    assert caught.value.hint


def test_one_language_twice(tmp_path: Path) -> None:
    path = write(tmp_path, "train.en-de.jsonl", '{"en": "a", "de": "b"}\n')

    with pytest.raises(ConfigError, match="source and target language are both de"):
        open_corpus([path], languages=("de", None))


@pytest.mark.parametrize("missing", ["train.en", "train.de"])
def test_a_missing_or_empty_side_is_found_before_any_work(tmp_path: Path, missing: str) -> None:
    paths = [write(tmp_path, name, "x\n") for name in ("train.en", "train.de")]
    (tmp_path / missing).unlink()
    with pytest.raises(DataError, match=f"{missing}: no such file"):
        open_corpus(paths)

    write(tmp_path, missing, "")
    with pytest.raises(DataError, match=f"{missing}: empty"):
        open_corpus(paths)


def test_uneven_files_are_told_of_when_the_end_is_reached(tmp_path: Path) -> None:
    corpus = open_corpus([write(tmp_path, "train.en", "x\n" * 5), write(tmp_path, "train.de", "y\n" * 4)])

    with pytest.raises(DataError, match="train.de: 4 lines, but .*train.en has 5"):
        list(corpus)


@pytest.mark.parametrize("pair", [("a",), "ab", ("a", None), ("a", "b", "c"), ("a", "b\0"), ("\ud800", "b")])
def test_things_that_are_no_pairs(pair: object) -> None:
    with pytest.raises(DataError, match="^pairs, number 2: "):
        open_pairs([("fine", "gut"), pair])  # type: ignore[list-item]


def test_no_pairs() -> None:
    with pytest.raises(DataError, match="empty"):
        open_pairs([])


def test_every_reading_error_is_one_of_ours(tmp_path: Path) -> None:
    good = write(tmp_path, "good.en", "x\ny\n")
    for name, data in {"a.de": b"x\n\xff", "b.de": b"\0\n", "c.de.gz": b"\x1f\x8b\x08junk"}.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DragomanError) as caught:
            list(open_corpus([good, tmp_path / name]))
        assert name in str(caught.value)
        assert caught.value.exit_code == 3


# Names against languages


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (["t.de", "t.en"], "swap the two sides"),
        (["t.de-en.tsv"], "swap the two columns"),
        (["t.de-en.jsonl"], "swap the two columns"),
    ],
)
def test_swapped_sides_are_refused(tmp_path: Path, names: list[str], hint: str) -> None:
    text = '{"source": "a", "target": "b"}\n' if names[0].endswith("jsonl") else "a\tb\n"
    paths = [write(tmp_path, name, text) for name in names]

    with pytest.raises(DataError, match="from de to en, but the languages are from en to de") as caught:
        open_corpus(paths, languages=("en", "de"))
    assert caught.value.hint.startswith(hint)
    open_corpus(paths, languages=("de", "en-GB"))
    open_corpus(paths)


def test_one_file_for_both_sides_is_refused(tmp_path: Path) -> None:
    path, link = write(tmp_path, "train.en", "a\n"), tmp_path / "train.de"
    link.hardlink_to(path)

    for other in (path, link):
        with pytest.raises(DataError, match="named for both sides"):
            open_corpus([path, other])


@pytest.mark.parametrize(
    ("names", "warnings"),
    [
        (["t.en", "t.fr"], 1),
        (["t.en", "t.en2"], 0),
        (["t.eng", "t.deu"], 0),
        (["t.en", "t.txt"], 0),
        (["src", "tgt"], 0),
        (["t.fr", "t.es"], 2),
    ],
)
def test_other_languages_are_read_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, names: list[str], warnings: int
) -> None:
    corpus = open_corpus([write(tmp_path, name, "a\n") for name in names], languages=("en", "de"))

    assert len(list(corpus)) == 1
    assert len([one for one in caplog.messages if "by its name, used as" in one]) == warnings
