from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from dragoman.evaluation.risk.planted import Planter

FILLERS = [
    f"Der Mann in dem Haus sieht die Katze auf dem Dach, und die Frau geht mit {n} Hunden."
    for n in range(2, 9)
]
TEXT = "Der alte Hund schläft in dem kleinen Korb, und die Katze sitzt auf der Bank."
PLANTER = Planter([TEXT, *FILLERS], "de")


def words(text: str) -> list[str]:
    return text.replace(",", "").replace(".", "").split()


def contains(long: list[str], short: list[str]) -> bool:
    return any(long[i : i + len(short)] == short for i in range(len(long)))


def test_an_omission_leaves_out_words_that_stand_together() -> None:
    found = {Planter([TEXT, *FILLERS], "de", seed).omission(0) for seed in range(20)}

    assert len(found) > 2
    for new in found:
        assert new is not None
        whole, rest = words(TEXT), words(new)
        cut = len(whole) - len(rest)
        assert 2 <= cut <= 9
        assert new.endswith(".")
        assert rest in [whole[:i] + whole[i + cut :] for i in range(len(rest) + 1)]


def test_an_addition_is_a_phrase_of_another_text() -> None:
    for seed in range(20):
        new = Planter([TEXT, *FILLERS], "de", seed).addition(0)
        assert new is not None
        whole, longer = words(TEXT), words(new)
        extra = len(longer) - len(whole)
        assert extra >= 2
        places = [i for i in range(len(whole) + 1) if longer[:i] + longer[i + extra :] == whole]
        assert places
        assert any(contains(words(other), longer[i : i + extra]) for i in places for other in FILLERS)


@pytest.mark.parametrize("seed", range(10))
def test_wrong_numbers(seed: int) -> None:
    digits = Planter(["Es sind 15 Tage."], "de", seed).wrong_number(0)
    spelled = Planter(["Zwei Hunde."], "de", seed).wrong_number(0)

    assert re.fullmatch(r"Es sind (?!15)\d\d Tage\.", digits or "")
    assert re.fullmatch(r"(?!Zwei)[A-ZÄÖÜ]\w+ Hunde\.", spelled or "")


def test_a_text_without_numbers_stays() -> None:
    assert Planter(["Ein Hund."], "de").wrong_number(0) is None
    assert Planter(["kaksi koiraa"], "fi").wrong_number(0) is None


@pytest.mark.parametrize("text", ["", "Ja.", "Hund"])
def test_a_short_text_stays_whole(text: str) -> None:
    planter = Planter([text], "de")

    assert planter.omission(0) is planter.addition(0) is planter.wrong_number(0) is None


def test_a_script_without_spaces() -> None:
    texts = ["老狗在篮子里睡觉，猫坐在长椅上。", "一个男人骑自行车去上班，天气很好。"]
    planter = Planter(texts, "zh")
    omission, addition = planter.omission(0), planter.addition(0)

    assert len(omission or "") == len(texts[0]) - 4
    assert len(addition or "") > len(texts[0])
    assert " " not in (addition or " ")


def test_the_same_seed_plants_the_same() -> None:
    makers: list[Callable[[Planter], str | None]] = [lambda p: p.omission(0), lambda p: p.addition(0)]
    for make in makers:
        assert make(Planter([TEXT, *FILLERS], "de")) == make(PLANTER)


def test_errors_change_the_text() -> None:
    texts = [TEXT, "Ja.", *FILLERS]
    found = list(Planter(texts, "de").errors())

    assert {kind for _, _, kind in found} == {"omission", "addition", "number differs"}
    assert all(new.strip() and new != texts[number] for number, new, _ in found)
    assert [kind for number, _, kind in found if number == 0] == ["omission", "addition"]
    assert {kind for number, _, kind in found if number == 1} <= {"addition"}
