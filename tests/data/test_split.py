"""Divided text: sizes, whole documents, nothing alike in two parts, the same parts from the same seed."""

from __future__ import annotations

from random import Random

import pytest
from tests.data.test_dedupe import jaccard, plain, some_pairs

from dragoman.base.errors import DataError
from dragoman.data import passes
from dragoman.data.split import divided
from dragoman.text.corpora.corpus import Corpus, chained, open_pairs
from dragoman.text.corpora.lines import Line

Parts = dict[str, list[Line]]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def parts_of(corpus: Corpus, valid: int, test: int, *, seed: int = 1, least: float = 0.8) -> Parts:
    parts: Parts = {"train": [], "valid": [], "test": [], "left out": []}
    for part, line, like in divided(
        corpus, {"valid": valid, "test": test}, seed=seed, least=least, workers=1
    ):
        parts["left out" if like else part].append(line)
    return parts


def words(chance: Random) -> tuple[str, str]:
    """A pair that is like no other."""
    one, other = ("".join(chance.choices(LETTERS, k=30)) for _ in range(2))
    return one, other


def documents(count: int, *, named: bool = False) -> Corpus:
    """Documents of 2 to 6 pairs, with names or an empty pair at the end of each."""
    chance, lines = Random(3), []
    for number in range(count):
        for _ in range(chance.randint(2, 6)):
            lines.append(Line(len(lines) + 1, *words(chance), document=f"d{number}" if named else ""))
        if not named:
            lines.append(Line(len(lines) + 1, "", ""))
    return Corpus("text", lambda: iter(lines))


def test_lines_are_divided() -> None:
    chance = Random(1)
    corpus = open_pairs([words(chance) for _ in range(400)])
    parts = parts_of(corpus, 30, 50)
    assert [len(parts[part]) for part in parts] == [320, 30, 50, 0]
    assert sorted(line for part in parts.values() for line in part) == [*corpus]
    for part in parts.values():
        assert part == sorted(part)
    assert parts_of(corpus, 30, 50) == parts
    assert parts_of(corpus, 30, 50, seed=2)["valid"] != parts["valid"]
    assert [len(some) for some in parts_of(corpus, 0, 7).values()] == [393, 0, 7, 0]


def test_what_is_held_out_does_not_depend_on_the_order_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(1)
    pairs = [words(chance) for _ in range(200)]
    first = parts_of(open_pairs(pairs), 20, 20)
    Random(2).shuffle(pairs)
    monkeypatch.setattr(passes, "CHUNK", 9)
    again = parts_of(open_pairs(pairs), 20, 20)
    for part in first:
        assert {line[1:3] for line in first[part]} == {line[1:3] for line in again[part]}


@pytest.mark.parametrize("named", [True, False])
def test_documents_stay_whole(named: bool) -> None:
    corpus = documents(60, named=named)
    parts = parts_of(corpus, 20, 30)
    assert not parts["left out"]
    number, home = 0, {}
    of_part = {line.number: part for part, lines in parts.items() for line in lines}
    for line in corpus:
        key = line.document or str(number)
        assert home.setdefault(key, of_part[line.number]) == of_part[line.number]
        number += not line.source
    for part, size in (("valid", 20), ("test", 30)):
        assert size - 3 <= sum(bool(line.source) for line in parts[part]) <= size


def test_copies_are_held_out_once() -> None:
    chance = Random(1)
    pairs = [words(chance) for _ in range(300)]
    corpus = open_pairs([*pairs, *pairs[:20] * 30])
    for seed in range(1, 6):
        parts = parts_of(corpus, 20, 20, seed=seed)
        for part in ("valid", "test"):
            assert len({line[1:3] for line in parts[part]}) == len(parts[part]) == 20


def test_an_empty_pair_does_not_end_a_document_with_a_name() -> None:
    chance, lines = Random(1), list[Line]()
    for number in range(20):
        for place in range(6):
            pair = ("", "") if place == 3 else words(chance)
            lines.append(Line(len(lines) + 1, *pair, document=f"d{number}"))
    parts = parts_of(Corpus("text", lambda: iter(lines)), 10, 10)
    names = [{line.document for line in parts[part]} for part in ("train", "valid", "test")]
    assert [len(each) for each in names] == [16, 2, 2]
    assert len(set.union(*names)) == 20


def test_a_part_that_is_like_another_as_a_whole_is_refused() -> None:
    pairs = [("The same words in every pair.", "Die gleichen Wörter in jedem Paar.")] * 40
    with pytest.raises(DataError, match="nothing is left for"):
        parts_of(open_pairs(pairs), 5, 5)


def test_a_text_with_few_empty_lines_has_no_documents() -> None:
    chance = Random(1)
    pairs = [words(chance) for _ in range(300)]
    pairs[100] = ("", "")
    assert len(parts_of(open_pairs(pairs), 20, 20)["valid"]) in (20, 21)


def test_documents_of_several_files() -> None:
    corpus = chained([documents(20), open_pairs([words(Random(n)) for n in range(50)])])
    parts = parts_of(corpus, 30, 30)
    assert sum(map(len, parts.values())) == len([*corpus])


@pytest.mark.parametrize("seed", range(3))
def test_no_part_is_like_another(seed: int) -> None:
    pairs = [pair for pair in some_pairs(Random(seed), 300) if all(pair)]
    parts = parts_of(open_pairs(pairs), 25, 25, seed=seed)
    assert 15 <= len(parts["test"]) <= 25
    assert parts["left out"]
    missed = compared = 0
    for one, others in (("valid", ("train", "test")), ("test", ("train",))):
        for held in parts[one]:
            for line in (line for other in others for line in parts[other]):
                alike = [jaccard(plain(held[side]), plain(line[side])) >= 0.8 for side in (1, 2)]
                missed += any(alike)
                compared += 1
    assert missed <= 2
    assert compared > 1000


def test_a_text_that_is_too_short() -> None:
    corpus = open_pairs([words(Random(n)) for n in range(30)])
    for sizes, part in (((30, 0), "train"), ((30, 5), "test"), ((100, 100), "test")):
        with pytest.raises(DataError, match=f"nothing is left for {part}"):
            parts_of(corpus, *sizes)
    with pytest.raises(DataError, match="nothing is left for valid"):
        parts_of(documents(20, named=True), 1, 0)


def test_empty_rows_alone_are_no_text() -> None:
    pair = words(Random(1))
    with pytest.raises(DataError, match="nothing is left for train"):
        parts_of(open_pairs([pair, ("", "")] * 6), 1, 0)
