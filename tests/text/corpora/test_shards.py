"""Several files are read in order, and files without a partner are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.base.errors import DragomanError
from dragoman.text.corpora.corpus import Line, open_corpus
from dragoman.text.corpora.shards import shards_of

PARTS = {"a": ("one\ntwo\n", "eins\nzwei\n"), "b": ("three\n", "drei\n")}
PAIRS = [("one", "eins"), ("two", "zwei"), ("three", "drei")]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    for name, sides in PARTS.items():
        for language, side in zip(("en", "de"), sides, strict=True):
            (tmp_path / f"{name}.{language}").write_text(side)
        rows = zip(*(side.splitlines() for side in sides), strict=True)
        (tmp_path / f"{name}.en-de.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in rows))
    return tmp_path


def paths(folder: Path, *names: str) -> list[str]:
    return [str(folder / name) for name in names]


@pytest.mark.parametrize(
    "names",
    [
        ("*.en", "*.de"),
        ("a.en", "b.en", "a.de", "b.de"),
        ("*.tsv",),
        ("a.en-de.tsv", "b.en-de.tsv"),
        ("?.en", "[ab].de"),
    ],
)
def test_shards_are_read_in_order(text: Path, names: tuple[str, ...]) -> None:
    corpus = open_corpus(paths(text, *names))

    assert [line[1:3] for line in corpus] == [line[1:3] for line in corpus] == PAIRS
    assert (corpus.source_language, corpus.target_language) == ("en", "de")
    assert [list(shard)[-1].number for shard in corpus.shards] == [2, 1]
    assert len(corpus.files) == 2 * (2 if len(names) > 1 and "tsv" not in names[0] else 1)


@pytest.mark.parametrize(
    ("names", "pattern"),
    [("a.1 a.2 b.1 b.2", "{}.?"), ("a1 a2 b1 b2", "{}?"), ("a.first a.second b.first b.second", "{}.*")],
)
def test_names_that_say_no_side_are_paired_in_order(tmp_path: Path, names: str, pattern: str) -> None:
    for name in names.split():
        (tmp_path / name).write_text("one\n")
    sides = [str(tmp_path / pattern.format(side)) for side in "ab"]
    found = [[Path(file).name for file in pair] for pair in shards_of(sides)]
    assert found == [[first, first.replace("a", "b")] for first in names.split()[:2]]


def test_one_file_is_its_own_shard(text: Path) -> None:
    corpus = open_corpus(paths(text, "a.en", "a.de"))
    assert corpus.shards == (corpus,)
    assert next(iter(corpus)) == Line(1, "one", "eins")


def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "a[1].tsv").write_text("one\teins\n")
    assert [line.source for line in open_corpus([tmp_path / "a[1].tsv"])] == ["one"]


@pytest.mark.parametrize(
    ("names", "extra", "message"),
    [
        (("*.en", "*.de"), "c.en", r"\*\.en: 3 files, but .*\*\.de: 2 files; without a partner: .*c\.en"),
        (("*.en", "*.de"), "c.en d.de", "c.en and .*d.de: would be read as a pair"),
        (("a.en", "a.de", "b.en", "b.de"), "", "a.en and .*a.de: on the same side"),
        (("a.en", "a.de", "b.en"), "", "3 files: "),
        (("*.src", "*.trg"), "a.src b.src b.trg c.trg", "a.src and .*b.trg: would be read as a pair"),
        (("*.src.gz", "*.trg.txt"), "a.src.gz b.src.gz b.trg.txt c.trg.txt", "would be read as a pair"),
        (
            ("a.src", "a.trg", "b.src", "b.trg"),
            "a.src a.trg b.src b.trg",
            "a.src and .*a.trg: on the same side",
        ),
        (("x*.en", "x*.de"), "", "x.*en: no file matches"),
        (("*.en", "a.en-de.tsv"), "", "not a pair of text files"),
    ],
)
def test_files_that_do_not_belong_together(
    text: Path, names: tuple[str, ...], extra: str, message: str
) -> None:
    for name in extra.split():
        (text / name).write_text("more\n")
    with pytest.raises(DragomanError, match=message) as caught:
        shards_of(paths(text, *names))
    assert caught.value.hint


def test_shards_of_different_length_are_named(text: Path) -> None:
    (text / "b.de").write_text("drei\nvier\n")
    with pytest.raises(DragomanError, match=r"b\.en: 1 line, but .*b\.de has 2"):
        list(open_corpus(paths(text, "*.en", "*.de")))
