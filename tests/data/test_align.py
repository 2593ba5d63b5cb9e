"""Sentence alignment: the search against all alignments of small texts, and planted changes in others."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

import numpy as np
import pytest

from dragoman.data import align as module
from dragoman.data.align import Bead, Prose, align_sentences
from dragoman.data.words import SideWords, WordTable, alike_words, word_tokens

Path = list[tuple[int, int, int, int]]  # from and to a cell
ANIMALS = "dog horse sheep goose rabbit donkey pigeon spider beetle salmon".split()
TIERE = "Hund Pferd Schaf Gans Kaninchen Esel Taube Spinne Käfer Lachs".split()
VERBS = "sees hears follows finds needs knows".split()
VERBEN = "sieht hört verfolgt findet braucht kennt".split()
PLACES = "in the garden|near the river|behind the old house|on the long road to the village".split("|")
ORTE = "im Garten|beim Fluss|hinter dem alten Haus|auf der langen Straße zum Dorf".split("|")


def story(many: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Sentences and their translations, all different."""
    chance = random.Random(seed)
    every = list(
        itertools.product(range(len(ANIMALS)), range(len(VERBS)), range(len(ANIMALS)), range(len(PLACES)))
    )
    chosen = chance.sample(every, many)
    years = [chance.randint(1000, 9999) if chance.random() < 0.3 else 0 for _ in chosen]
    return (
        [
            f"The {ANIMALS[a]} {VERBS[v]} a {ANIMALS[b]} {PLACES[p]}{f' in {year}' * bool(year)}."
            for (a, v, b, p), year in zip(chosen, years, strict=True)
        ],
        [
            f"{TIERE[a]} {VERBEN[v]} {TIERE[b]} {ORTE[p]}{f' im Jahr {year}' * bool(year)}."
            for (a, v, b, p), year in zip(chosen, years, strict=True)
        ],
    )


def found(english: list[str], german: list[str], **options: object) -> list[tuple[int, int, int, int]]:
    beads = align_sentences(Prose(english, "en"), Prose(german, "de"), **options)  # type: ignore[arg-type]
    return [(one.start, one.end, one.target_start, one.target_end) for one in beads if all(one.sides)]


# ---- the search


def grid(seed: int, size: tuple[int, int]) -> module._Grid:
    """A table of a few sentences of chance, with paragraphs."""
    chance = random.Random(seed)
    sides = [
        [
            " ".join(chance.choices(("ab", "cdefg", "hij", "klmnop", "42"), k=chance.randint(1, 9)))
            for _ in range(many)
        ]
        for many in size
    ]
    begins = [[chance.random() < 0.5 for _ in one] for one in sides]
    ours, theirs = (
        Prose(one, code, starts) for one, code, starts in zip(sides, ("en", "de"), begins, strict=True)
    )
    words = SideWords(ours.sentences, "en"), SideWords(theirs.sentences, "de")
    directions = [
        module._Direction(given, other, alike_words(given, other)) for given, other in (words, words[::-1])
    ]
    band = np.zeros(size[0] + 1, np.int64), np.full(size[0] + 1, size[1] + 1)
    return module._Grid(module._Sides.of(ours, theirs), directions[0], directions[1], band)


def paths(i: int, j: int, end: tuple[int, int], gap: bool = False) -> Iterator[Path]:
    """Every alignment from a cell on: beads, and stretches left out between them."""
    if (i, j) == end:
        yield []
    for x, y in itertools.product(range(1, 4), repeat=2):
        if i + x <= end[0] and j + y <= end[1]:
            yield from ([(i, j, i + x, j + y), *rest] for rest in paths(i + x, j + y, end))
    for x, y in itertools.product(range(end[0] - i + 1), range(end[1] - j + 1)):
        if x + y and not gap:
            yield from ([(i, j, i + x, j + y, 0), *rest] for rest in paths(i + x, j + y, end, True))  # type: ignore[list-item]


@pytest.mark.parametrize(("seed", "size"), [(1, (3, 3)), (2, (4, 3)), (3, (2, 4)), (4, (1, 3)), (5, (4, 4))])
def test_the_best_of_all_alignments_is_found_with_its_probability(seed: int, size: tuple[int, int]) -> None:
    table = grid(seed, size)
    scores = table.scores((0, size[0] + 1), (0, size[1] + 1))

    def score(step: tuple[int, ...]) -> float:
        i, j, k, m, *left_out = step
        if left_out:
            return module._SKIP + (k - i + m - j - 1) * module._NEXT_SKIP
        return float(scores[k - i - 1, m - j - 1, k, m])

    every = [(sum(map(score, path)), path) for path in paths(0, 0, size)]
    best, steps = max(every)
    beads = [one for one in table.beads(sure=True) if all(one.sides)]
    total = np.logaddexp.reduce([module._HEAT * value for value, _ in every])

    assert [(one.start, one.target_start, one.end, one.target_end) for one in beads] == [
        step for step in steps if len(step) == 4
    ]
    assert table.sweep((np.maximum, 1.0))[0][-1].every[-1] == pytest.approx(best)
    for one in beads:
        step = (one.start, one.target_start, one.end, one.target_end)
        with_it = np.logaddexp.reduce([module._HEAT * value for value, path in every if step in path])
        assert one.score == pytest.approx(score(step))
        assert one.confidence == pytest.approx(math.exp(with_it - total))


def test_the_words_of_a_group_are_a_mixture_of_their_translations() -> None:
    given, other = SideWords(["a b", "c", "b b"], "en"), SideWords(["x y", "y", "z x x"], "de")
    table = WordTable(
        np.array([[0, 1], [2, -1], [1, -1]], np.int32), np.array([[0.5, 0.3], [0.9, 0], [0.2, 0]], np.float32)
    )
    direction = module._Direction(given, other, table)
    share = [(count + 0.5) / 7.5 for count in (3, 2, 1)]
    gains = direction.gains((0, 4), (0, 4))

    for x, last, column in itertools.product(range(3), range(3), range(3)):
        words = [word for line in given.lines[max(0, last - x) : last + 1] for word in line]
        expected = 0.0
        for word in other.lines[column]:
            p = share[word]
            for one in words:
                row = dict(
                    zip(table.candidates_VN[one].tolist(), table.probability_VN[one].tolist(), strict=True)
                )
                row.pop(-1, None)
                p += row.get(word, 0) + (1 - sum(row.values())) * share[word]
            expected += math.log(p / (len(words) + 1) / share[word])
        assert gains[x, last + 1, column + 3] == pytest.approx(expected, abs=1e-4)


def test_a_band_changes_nothing_if_the_best_path_is_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    english, german = story(70)
    whole = found(english, german)
    monkeypatch.setattr(module, "_SMALL", 0)

    assert found(english, german) == whole


# ---- planted changes


def test_equal_steps() -> None:
    english, german = story(60)

    assert found(english, german) == [(n, n + 1, n, n + 1) for n in range(60)]


def test_merged_split_and_deleted_sentences() -> None:
    english, german = story(60)
    german[10:12] = [" ".join(german[10:12])]  # two are one
    english[30:32] = [" ".join(english[30:32])]
    del german[40], english[50]
    beads = found(english, german)

    assert (10, 12, 10, 11) in beads
    assert (30, 31, 29, 31) in beads
    assert len(beads) == 56
    assert {(end - start, u - t) for start, end, t, u in beads} == {(1, 1), (2, 1), (1, 2)}


def test_a_section_that_stands_elsewhere() -> None:
    english, german = story(80)
    moved = german[:20] + german[30:60] + german[20:30] + german[60:]
    beads = align_sentences(Prose(english, "en"), Prose(moved, "de"))
    where = {one.start: (one.target_start, one.moved) for one in beads if one.sides == (1, 1)}

    assert [where[n] for n in range(20, 30)] == [(n + 30, True) for n in range(20, 30)]
    assert [where[n] for n in range(30, 60)] == [(n - 10, False) for n in range(30, 60)]
    assert {n for one in beads for n in range(one.start, one.end)} == set(range(80))
    assert sorted(n for one in beads for n in range(one.target_start, one.target_end)) == [*range(80)]


def test_a_section_within_a_paragraph_that_stands_elsewhere() -> None:
    english, german = story(80)
    moved = german[:20] + german[30:60] + german[20:30] + german[60:]
    begins = [[number == 0 for number in range(80)] for _ in range(2)]
    beads = align_sentences(Prose(english, "en", begins[0]), Prose(moved, "de", begins[1]))

    assert sum(one.moved for one in beads) == 10


def test_confidence_tells_what_is_wrong() -> None:
    english, german = story(60)
    german[30] = "Nichts davon steht im anderen Text, aber es ist etwa so lang."
    beads = {one.start: one for one in align_sentences(Prose(english, "en"), Prose(german, "de"))}
    right = [one.confidence for n, one in beads.items() if n != 30]

    assert beads[30].sides != (1, 1) or beads[30].confidence < min(right)
    assert min(right) > 0.5


def test_known_pairs_and_translations_help() -> None:
    english = [f"A {one}." for one in ANIMALS]
    german = [f"Ein {one}." for one in TIERE]
    theirs = [*german[1:], "Ein Wal."]
    wanted = {(n, n + 1, n - 1, n) for n in range(2, 10)}

    assert wanted <= {*found(english, theirs, known=[*zip(english, german, strict=True)] * 5)}
    assert wanted <= {*found(english, theirs, translated=german)}
    assert wanted <= {*found(english, theirs, back=[*english[1:], "A whale."])}
    assert not wanted <= {*found(english, theirs)}


def test_paragraphs_are_anchors_but_no_borders() -> None:
    english = Prose(
        ["One two.", "Three four.", "Five six.", "Seven eight."], "en", [True, False, True, False]
    )
    german = Prose(["Ein zwei.", "Drei vier fünf sechs.", "Sieben acht."], "de", [True, True, False])
    split = Prose(german.sentences, "de", [True, False, True])
    sides = [[one.sides for one in align_sentences(english, other, passes=1)] for other in (german, split)]

    assert all(sum(x for x, _ in one) == 4 and sum(y for _, y in one) == 3 for one in sides)
    assert sides[0] != [] != sides[1]


# ---- odd documents


@pytest.mark.parametrize(
    "sides", [([], []), (["One."], []), ([], ["Eins."]), (["."], ["."]), (["", ""], [""])]
)
def test_empty_and_one_sided_documents(sides: tuple[list[str], list[str]]) -> None:
    beads = align_sentences(Prose(sides[0], "en"), Prose(sides[1], "de"))

    assert sum(one.sides[0] for one in beads) == len(sides[0])
    assert sum(one.sides[1] for one in beads) == len(sides[1])
    assert all(0 <= one.confidence <= 1 for one in beads)


def test_identical_documents() -> None:
    english, _ = story(50)

    assert found(english, english) == [(n, n + 1, n, n + 1) for n in range(50)]


def test_a_long_document_against_a_short_one() -> None:
    english, german = story(230)

    beads = found(english, german[200:])

    assert beads == [(n + 200, n + 201, n, n + 1) for n in range(30)]


def test_scripts_without_spaces() -> None:
    chinese = ["我有一只狗。", "今天下雨，我们在家。", "他2024年去了北京。"]
    english = ["I have a dog.", "Today it rains, and we stay at home.", "In 2024 he went to Beijing."]
    beads = align_sentences(Prose(english, "en"), Prose(chinese, "zh"))

    assert [one.sides for one in beads] == [(1, 1)] * 3


def test_words_are_stems_numbers_and_marks() -> None:
    assert [*word_tokens("The dogs cost 1,500.50 €?", "en")] == ["the", "dog", "cost", "150050", "€", "?"]
    assert [*word_tokens("狗 %s https://a.b/c.", "zh")][:3] == ["狗", "%s", "https://a.b/c."]


def test_each_bead_is_a_value() -> None:
    assert Bead(1, 3, 4, 5).sides == (2, 1)


def test_latin_names_within_chinese_are_words() -> None:
    found = [*word_tokens("\u6211\u4e70\u4e86iPhone\u624b\u673a\uff0cIBM\u516c\u53f8", "zh")]
    assert found == [*"\u6211\u4e70\u4e86", "iphon", *"\u624b\u673a", "ibm", *"\u516c\u53f8"]
