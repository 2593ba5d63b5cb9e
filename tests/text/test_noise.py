"""Noise against its definition: what each kind changes in several scripts, and shares within bounds."""

from __future__ import annotations

import unicodedata
from collections import Counter
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.checks.placeholders import find_placeholders
from dragoman.text.noise import BLANK, BLANKED, DROPPED, FARTHEST, NOISES, Noise, noised, scrambled

WORDS = [f"w{number}" for number in range(40)]
TEXT = " ".join(WORDS)
MANY = [scrambled(TEXT, f"1 {number} 0").split(" ") for number in range(500)]


def bounds(share: float, trials: int) -> float:
    """Five standard deviations of a share: one seed in a million would leave them."""
    return 5 * sqrt(share * (1 - share) / trials)


def test_the_share_of_words_that_are_left_out() -> None:
    trials = len(MANY) * len(WORDS)
    dropped = 1 - sum(map(len, MANY)) / trials

    assert dropped == pytest.approx(0.1, abs=bounds(0.1, trials))
    assert (DROPPED, BLANKED, FARTHEST) == (0.1, 0.1, 3)  # Edunov et al. 2018


def test_the_share_of_words_that_are_blank() -> None:
    words = Counter(word for line in MANY for word in line)
    kept = words.total()

    assert words[BLANK] / kept == pytest.approx(0.1, abs=bounds(0.1, kept))
    assert set(words) == {*WORDS, BLANK}


def test_no_word_moves_farther_than_three_places() -> None:
    moves: Counter[int] = Counter()
    for number in range(300):
        line = scrambled(TEXT, f"{number}", dropped=0.0, blanked=0.0).split(" ")
        assert sorted(line) == sorted(WORDS)
        moves.update(place - int(word[1:]) for place, word in enumerate(line))

    assert set(moves) == set(range(-3, 4))
    assert moves[0] < 0.5 * moves.total()


def test_where_everything_may_move_farther() -> None:
    line = scrambled(TEXT, "1", dropped=0.0, blanked=0.0, farthest=20).split(" ")

    assert max(abs(place - int(word[1:])) for place, word in enumerate(line)) > 3
    assert scrambled(TEXT, "1", dropped=0.0, blanked=0.0, farthest=0) == TEXT


def test_each_word_has_the_same_chance() -> None:
    words = Counter(word for line in MANY for word in line)

    for word in WORDS:
        assert words[word] / len(MANY) == pytest.approx(0.81, abs=bounds(0.81, len(MANY)))


def test_noise_is_a_function_of_its_key() -> None:
    assert scrambled(TEXT, "1 2 3") == scrambled(TEXT, "1 2 3")
    assert len({scrambled(TEXT, f"{seed} {number}") for seed in (1, 2) for number in (1, 2)}) == 4


@given(st.text(max_size=60), st.integers(0, 3))
def test_any_text_keeps_a_word(text: str, seed: int) -> None:
    once = scrambled(text, f"{seed}", dropped=0.9)

    assert bool(once.strip()) == bool(text.strip())
    assert "\n" not in once
    assert (
        scrambled(text, "1", dropped=0.0, blanked=0.0, farthest=0).split() == text.split()
        or not text.isascii()
    )


def test_characters_are_the_words_of_scripts_without_spaces() -> None:
    text = "狗在温暖的房子里睡觉"
    assert scrambled(text, "1", dropped=0.0, blanked=0.0, farthest=0) == text
    assert sorted(scrambled(text, "1", dropped=0.0, blanked=0.0)) == sorted(text)
    assert scrambled(text, "1", dropped=0.0, blanked=0.0) != text
    assert set(scrambled(text, "2", dropped=0.0, blanked=1.0)) == {BLANK}
    assert scrambled("a 狗 b", "1", dropped=0.0, blanked=0.0, farthest=0) == "a狗b"


GERMAN = "„Größe“ heißt auf Französisch anders, steht auf https://a.example/Ort – oder?"
ENGLISH = "“Size” isn't the same in French, says https://a.example/Ort – is it?"
LINES = [
    (GERMAN, ENGLISH, ("de", "en")),
    (ENGLISH, GERMAN, ("en", "de")),
    ("Собака спит в тёплом доме, а кошка – нет.", "The dog sleeps.", ("ru", "en")),
    ("Η γάτα κοιμάται, ο σκύλος όχι.", "The cat sleeps.", ("el", "en")),
    ("狗在温暖的房子里睡觉，猫也是。", "The dog sleeps.", ("zh", "en")),
    ("犬は寝ている。", "The dog sleeps.", ("ja", "en")),
    ("الكلب ينام في البيت، والقطة لا.", "The dog sleeps.", ("ar", "en")),
    ("कुत्ता घर में सोता है।", "The dog sleeps.", ("hi", "en")),
]
CARRIED = ("capitals", "title", "emoji", "tags")


def several(kind: Noise, source: str, target: str, languages: tuple[str, str]) -> list[tuple[str, str]]:
    """The pair with noise, by several keys."""
    return [noised((source, target), f"{n}", kinds=(kind,), languages=languages) for n in range(12)]


@pytest.mark.parametrize("kind", NOISES)
def test_every_kind_in_every_script(kind: Noise) -> None:
    """No line is blank or broken, its placeholders stay, and the target changes where it has to."""
    for line in LINES:
        for source, target in several(kind, *line):
            assert source.strip()
            assert (source + target).encode()
            assert [one.text for one in find_placeholders(line[0])] == [
                one.text for one in find_placeholders(source) if one.text in line[0]
            ]
            assert kind in CARRIED or target == line[1]
            assert source != line[0] or target == line[1]


def test_scripts_have_the_kinds_that_make_sense() -> None:
    def kinds(number: int) -> set[Noise]:
        return {
            kind
            for kind in NOISES
            if any(one[0] != LINES[number][0] for one in several(kind, *LINES[number]))
        }

    signs = {"punctuation", "emoji", "tags", "breaks"}
    assert kinds(0) == {*NOISES}
    assert kinds(1) == {*NOISES} - {"diacritics"}
    assert kinds(2) == kinds(3) == {*NOISES} - {"quotes"}
    assert kinds(4) == kinds(5) == signs
    assert kinds(6) == signs | {"typos", "spaces"}
    assert signs | {"spaces"} <= kinds(7) <= kinds(6)


def test_case() -> None:
    pair, languages = ("Die Straße zu {Ort}", "The road to {Ort}"), ("de", "en")
    upper, title, lower = (
        noised(pair, "1", kinds=(kind,), languages=languages) for kind in ("capitals", "title", "lower")
    )
    assert upper == ("DIE STRASSE ZU {Ort}", "THE ROAD TO {Ort}")
    assert title == ("Die Straße Zu {Ort}", "The Road To {Ort}")
    assert lower == ("die straße zu {Ort}", "The road to {Ort}")
    assert noised(("ılık iyi", "x"), "1", kinds=("capitals",), languages=("tr", "en"))[0] == "ILIK İYİ"
    assert noised(("Irmak İyi", "x"), "1", kinds=("lower",), languages=("tr", "en"))[0] == "ırmak iyi"


@pytest.mark.parametrize(("language", "beside_y"), [("de", "ax"), ("en", "tuh"), ("fr", "tuh")])
def test_typos_are_made_on_the_keyboard_of_the_language(language: str, beside_y: str) -> None:
    """A typo is a letter of a key beside the right one, two swapped, one left out or one twice."""
    languages = language, "en"
    typos = {noised(("Yew", "x"), f"{n}", kinds=("typos",), languages=languages)[0] for n in range(150)}

    others = {typo for typo in typos if typo[1:] == "ew" and typo not in ("ew", "eYw")}
    assert {"eYw", "Ywe", "YYew", "Yeew", "Yw", "Ye"} < typos
    assert {typo[0].lower() for typo in others} == {*beside_y}
    assert all(typo[0].isupper() for typo in others)
    assert all(2 <= len(typo) <= 4 for typo in typos)


def test_a_share_of_the_words_has_typos() -> None:
    text = " ".join("ABCDEFGHIJKLMNOPQRST"[n] + "ord" for n in range(20))
    for source, _ in several("typos", text, "x", ("en", "de")):
        changed = sum(a != b for a, b in zip(text.split(), source.split(), strict=True))
        assert changed == 3


def test_punctuation_is_missing_or_doubled() -> None:
    found = {source for source, _ in several("punctuation", "Oh, it is 3.5 km!", "x", ("en", "de"))}
    assert found == {"Oh it is 3.5 km", "Oh, it is 3.5 km", "Oh, it is 3.5 km!!", "Oh, it is 3.5 km!!!"}
    assert noised((".", "."), "1", kinds=("punctuation",)) == (".", ".")


def test_diacritics_are_missing() -> None:
    found = {source for source, _ in several("diacritics", "Süße Ägypter", "x", ("de", "en"))}
    assert found == {"Susse Agypter", "Suesse Aegypter"}
    decomposed = unicodedata.normalize("NFD", "Ça déjà vu, Łódź")
    found = {source for source, _ in several("diacritics", decomposed, "x", ("fr", "en"))}
    assert found == {"Ca deja vu, Lodz"}
    assert noised(("ёж и йод", "x"), "1", kinds=("diacritics",), languages=("ru", "en"))[0] == "еж и йод"


def test_emoji_and_tags_are_on_both_sides() -> None:
    for kind in ("emoji", "tags"):
        for source, target in several(kind, "Yes.", "Ja.", ("en", "de")):
            assert target == source.replace("Yes.", "Ja.") != "Ja."


def test_a_blank_line_stays() -> None:
    assert all(noised(pair, "1") == pair for pair in (("", ""), (" ", "a")))


def test_spaces_breaks_and_quotes() -> None:
    line = "“Yes” she said, it isn't"
    for source, _ in several("spaces", line, "x", ("en", "de")):
        assert source.split() == line.split()
    for source, _ in several("breaks", line, "x", ("en", "de")):
        assert source.count("\n") == 1
        assert source.split() == line.split()
    for source, _ in several("quotes", line, "x", ("en", "de")):
        assert "“Yes” " not in source
        assert "isn't" not in source


def test_a_pair_gets_one_kind_by_its_key() -> None:
    pairs = [noised((GERMAN, ENGLISH), f"{n}", languages=("de", "en")) for n in range(200)]
    assert pairs == [noised((GERMAN, ENGLISH), f"{n}", languages=("de", "en")) for n in range(200)]
    assert len({*pairs}) > 60
    assert all(source != GERMAN for source, _ in pairs)
    assert noised(("…", "…"), "1", kinds=("lower", "typos")) == ("…", "…")


@given(st.text(st.characters(codec="utf-8"), max_size=40), st.integers(0, 3))
def test_any_text_stands_it(text: str, key: int) -> None:
    source, target = noised((text, text), f"{key}", languages=("de", "tr"))
    (source + target).encode()  # no half of a character
    assert source.strip() or not text.strip()
