"""Duplicates against a comparison of all pairs, and which pair of a group is kept."""

from __future__ import annotations

import unicodedata
from collections import Counter
from contextlib import ExitStack
from functools import cache
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from dragoman.data import dedupe, likeness, passes
from dragoman.data.dedupe import Duplicates
from dragoman.data.likeness import By, Likeness, Sides
from dragoman.data.near import band_keys, normalised, signatures
from dragoman.text.corpora.corpus import Corpus, open_corpus, open_pairs

WORDS = "the old harbour lies quiet under a red morning sky while small boats carry salt and bread".split()
CHARACTERS = "古い港は赤い朝の空の下で静かに眠り小さな船が塩とパンを運ぶ"
Pair = tuple[str, str]


def some_pairs(chance: Random, number: int = 150) -> list[Pair]:
    """Pairs of which many are like others, some with empty sides."""
    pairs = [("", ""), ("", ""), ("…", "!"), ("…", "!"), ("Yes.", ""), ("yes", "")]
    while len(pairs) < number:
        source = " ".join(chance.choices(WORDS, k=16))
        pairs.append((source, "".join(chance.choices(CHARACTERS, k=40))))
        for _ in range(chance.choice([0, 0, 1, 3])):
            left, right = chance.choice(pairs[6:])
            words = left.split()
            words[chance.randrange(len(words))] = chance.choice(WORDS)
            right = chance.choice(["".join(chance.choices(CHARACTERS, k=40)), right, right + "。"])
            pairs.append((" ".join(words) if chance.random() < 0.6 else left.upper() + "!", right))
    return pairs


@cache
def plain(text: str) -> str:
    """Letters and digits in small letters, by character; the text itself if it has none."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(one if one.isalnum() else " " for one in folded).split()) or text


def jaccard(one: str, other: str) -> float:
    if not one or not other:
        return 0.0
    return len(runs(one) & runs(other)) / len(runs(one) | runs(other))


@cache
def runs(text: str) -> set[str]:
    padded = f" {text} ".ljust(4)
    return {padded[i : i + 4] for i in range(len(padded) - 3)}


def are_alike(one: Pair, other: Pair, by: By, sides: Sides, least: float = 0.8) -> bool:
    if by == "near":
        each = [jaccard(plain(a), plain(b)) >= least for a, b in zip(one, other, strict=True)]
    else:
        form = plain if by == "normalised" else str
        each = [bool(a) and form(a) == form(b) for a, b in zip(one, other, strict=True)]
    same = any(one) and [*map(plain if by != "exact" else str, one)] == [
        *map(plain if by != "exact" else str, other)
    ]
    return {"both": all(each) or same, "source": each[0], "target": each[1], "either": any(each)}[sides]


def components(pairs: list[Pair], by: By, sides: Sides) -> list[int]:
    """The first pair of the group of each, by comparing all."""
    group = list(range(len(pairs)))
    for i, j in combinations(range(len(pairs)), 2):
        if group[i] != group[j] and are_alike(pairs[i], pairs[j], by, sides):
            low, high = sorted((group[i], group[j]))
            group = [low if one == high else one for one in group]
    return group


def numbers_kept(corpus: Corpus, like: Likeness, folder: Path) -> tuple[list[int], list[dict[str, object]]]:
    with ExitStack() as stack:
        found = Duplicates(corpus, like, folder, workers=1, stack=stack)
        kept = [line.number for line in found.kept()]
        return kept, [*found.left_out()]


@pytest.mark.parametrize("sides", ["both", "source", "target", "either"])
@pytest.mark.parametrize("by", ["exact", "normalised"])
def test_the_groups_are_those_of_all_pairs(by: By, sides: Sides, tmp_path: Path) -> None:
    pairs = some_pairs(Random(4))
    kept, left_out = numbers_kept(open_pairs(pairs), Likeness(by, sides), tmp_path)

    groups = components(pairs, by, sides)
    assert len(kept) == len(set(groups)) < len(pairs)
    assert {groups[number - 1] for number in kept} == {*groups}
    for about in left_out:
        assert groups[about["line"] - 1] == groups[about["of"]["line"] - 1]
        assert about["of"]["line"] in kept


@pytest.mark.parametrize("sides", ["both", "source", "target", "either"])
def test_near_groups_are_nearly_those_of_all_pairs(sides: Sides, tmp_path: Path) -> None:
    expected = found = 0
    for seed in range(3):
        pairs = some_pairs(Random(seed))
        kept, left_out = numbers_kept(open_pairs(pairs), Likeness("near", sides), tmp_path)
        groups = components(pairs, "near", sides)
        for about in left_out:
            assert groups[about["line"] - 1] == groups[about["of"]["line"] - 1]
        expected, found = expected + len(pairs) - len({*groups}), found + len(pairs) - len(kept)
    assert 0.95 * expected <= found <= expected
    assert expected > 20


def test_the_pair_without_faults_is_kept(tmp_path: Path) -> None:
    pairs = [
        ("It opens in 15 days.", "Es öffnet in 50 Tagen."),
        ("A dog.", "Ein Hund."),
        ("It opens in 15 days!", "Es öffnet in 15 Tagen."),
        ("It opens in 15 days", "Es öffnet in 15 Tagen"),
        ("a dog", "ein Hund"),
    ]
    kept, left_out = numbers_kept(open_pairs(pairs), Likeness("normalised", "source"), tmp_path)
    assert kept == [2, 3]
    assert [(about["line"], about["of"]["line"]) for about in left_out] == [(1, 3), (4, 3), (5, 2)]


def test_groups_are_transitive(tmp_path: Path) -> None:
    pairs = [("dog", "Hund"), ("cat", "Katze"), ("hound", "Hund"), ("hound", "Rüde"), ("male", "Rüde")]
    kept, left_out = numbers_kept(open_pairs(pairs), Likeness("exact", "either"), tmp_path)
    assert kept == [1, 2]
    assert [about["of"]["line"] for about in left_out] == [1, 1, 1]
    chain = [" ".join(WORDS[:start] + WORDS[start + 1 :]) for start in range(6)]
    kept, _ = numbers_kept(open_pairs([(one, "x") for one in chain]), Likeness("near", "source"), tmp_path)
    assert kept == [1]


def test_the_similarity_is_that_with_the_pair_kept(tmp_path: Path) -> None:
    one = " ".join(WORDS)
    other = one.replace("salt", "wine")
    _, (about,) = numbers_kept(open_pairs([(one, "x"), (other, "y")]), Likeness("near", "source"), tmp_path)
    assert about["similarity"] == round(jaccard(one, other), 4)


@pytest.mark.parametrize("by", ["normalised", "near"])
def test_chunks_and_files_do_not_matter(by: By, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = some_pairs(Random(6))
    expected = numbers_kept(open_pairs(pairs), Likeness(by, "both"), tmp_path)
    for module in (passes, dedupe):
        monkeypatch.setattr(module, "CHUNK", 7)
    assert numbers_kept(open_pairs(pairs), Likeness(by, "both"), tmp_path) == expected
    names = [tmp_path / "one.en-de.tsv", tmp_path / "two.en-de.tsv"]
    for path, some in zip(names, (pairs[:60], pairs[60:]), strict=True):
        path.write_text("".join(f"{a}\t{b}\n" for a, b in some), encoding="utf-8")
    _, left_out = numbers_kept(open_corpus(names), Likeness(by, "both"), tmp_path)
    for about, alone in zip(left_out, expected[1], strict=True):
        assert about["line"] + 60 * (about["file"] == str(names[1])) == alone["line"]


def test_nothing_has_a_name_while_it_runs(tmp_path: Path) -> None:
    seen = []
    with ExitStack() as stack:
        pairs = open_pairs(some_pairs(Random(1)))
        Duplicates(pairs, Likeness(), tmp_path, seen.append, workers=1, stack=stack)
        assert [*tmp_path.iterdir()] == []
    assert seen == [len([*pairs])]


def test_equal_texts_cost_few_comparisons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Counter[str]()

    def counting(one: str, other: str) -> float:
        calls["similarity"] += 1
        return 1.0 if one == other else 0.0

    monkeypatch.setattr(likeness, "similarity", counting)
    pairs = [("Yes, of course.", "Ja, natürlich.")] * 3000
    kept, _ = numbers_kept(open_pairs(pairs), Likeness("near", "both"), tmp_path)
    assert kept == [1]
    assert calls["similarity"] < 8 * len(pairs)


def test_faults_are_sought_only_until_a_pair_of_the_group_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(dedupe, "faults", lambda source, target, *_: seen.append(source) or source == "Yes.")
    monkeypatch.setattr(dedupe, "CHUNK", 2)
    pairs = [("Yes.", "Ja."), ("Yes.", "Ja."), ("YES", "Ja."), ("yes", "Ja."), ("Yes.", "Ja.")] * 50
    kept, _ = numbers_kept(open_pairs(pairs), Likeness("normalised", "both"), tmp_path)
    assert kept == [3]
    assert seen == ["Yes.", "Yes.", "YES", "yes"]


def test_two_texts_that_are_not_alike_are_compared_once_for_each_band_in_common(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = " ".join(WORDS), " ".join(WORDS).replace("salt", "wine").replace("old", "new")
    both = band_keys(signatures([normalised(one), normalised(other)]))
    common = int((both[0] == both[1]).sum())
    assert common > 1
    compared = []
    are_alike = Likeness.are_alike
    monkeypatch.setattr(
        Likeness, "are_alike", lambda self, *two: compared.append(two) or are_alike(self, *two)
    )
    kept, _ = numbers_kept(open_pairs([(one, "x"), (other, "y")]), Likeness("near", "source", 0.99), tmp_path)
    assert kept == [1, 2]
    assert len(compared) == common
