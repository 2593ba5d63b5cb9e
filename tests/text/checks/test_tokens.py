"""What is no word of a language must be in the translation, too; what is one may change."""

from __future__ import annotations

import time

import pytest

from dragoman.text.checks.tokens import lost_tokens, lost_units

LOST = [
    ("Sync your iPhone now.", "Synchronisieren Sie jetzt.", ["iPhone"]),
    ("Sync your iPhone now.", "Synchronisieren Sie Ihr IPhone.", ["iPhone"]),
    ("Play the MP3 in C++ -> go", "Spiel das Lied", [">", "MP3", "C++"]),
    ("Call std::sort or a|b", "Ruf std: sort oder a b", ["std::sort", "|"]),
    ("call fts_close", "rufe", ["fts_close"]),
    ("If size=5 then a\\b # not", "Wenn 5, dann a b", ["=", "\\", "#"]),
    ("Press $x twice: $x", "Drücke $x", ["$x"]),
    ("The dog \U0001f600 sleeps", "Der Hund schläft", ["\U0001f600"]),
    ("Look at max_size in the garden of the dog", "Schau im Garten des Hundes", ["max_size"]),
    ("A Linux64-based B5-0045", "Ein System", ["Linux64", "B5-0045"]),
]
KEPT = [
    ("Tom's iPhone, and the NATO", "Toms iPhone, und die NATO"),
    ("The PitBull and the NaNs", "Der Pitbull und NaN-Werte"),
    ("Two iPhones", "Zwei iPhones"),
    ("The EU, R&D and AT&T", "Die UE, F&E"),
    ("It is and/or he/she at 10:30", "Es ist und"),
    ("US$5, km2, 4x4, the 5th, 10km, 20°C, 50%", "5"),
    ('Don\'t -- "ever" ... go; w[h]ile', "Nie"),
    ("E_xit", "_Beenden"),
    ("Comment #1 <<here>>", "Kommentar Nr. 1 <<hier>>"),
    ("&Save ~Open", "Sichern"),
    ("e.g. this, z.B. U.S.A. a.m.", "Dies"),
    ("MacArthur McDonald", "Mac Arthur"),
    ("A well-known on-line man", "Ein Mann"),
]


@pytest.mark.parametrize(("source", "target", "lost"), LOST)
def test_lost_tokens_are_found(source: str, target: str, lost: list[str]) -> None:
    assert sorted(lost_tokens(source, target)) == sorted(lost)


@pytest.mark.parametrize(("source", "target"), KEPT)
def test_words_may_change(source: str, target: str) -> None:
    assert lost_tokens(source, target) == []


def test_units_behind_placeholders_stay() -> None:
    assert lost_units("%.1fkg in %dMB, {n}px", "%.1f in {n}px", " in px") == ["kg", "MB"]
    assert lost_units("%.1fkg", "%.1f kg", "  kg") == []
    assert lost_units("Every %.1fs", "Alle %.1f", "Alle  ") == ["s"]
    assert lost_units("the %dth of %ss", "%d %s", " ") == []


@pytest.mark.thorough
@pytest.mark.parametrize("part", ["A", "1a", "a1 ", "=", "= ", "a_", "YYYYMM", "11", "@", "a-", "a.", "a'"])
def test_time_is_linear(part: str) -> None:
    many = part * (10_000 // len(part))
    start = time.process_time()
    lost_tokens(many, many[::-1])
    lost_tokens(" ".join(f"a{n}b" for n in range(5000)), many)
    assert time.process_time() - start < 3
