from __future__ import annotations

import random
from difflib import SequenceMatcher

import pytest

from dragoman.text.checks.faults import FLAGS, Fault, faults

FINE = [
    ("A man rides a bike.", "Ein Mann fährt Rad."),
    ("Click %s in 3 days.", "Klicken Sie in 3 Tagen auf %s."),
    ("LibreOffice Writer Document Foundation", "LibreOffice Writer Document Foundation"),  # names
    ("So, so, so, so, so, so.", "So, so, so, so, so, so."),  # the source repeats itself too
    ("", ""),
    ("%1$s of 3", "3 von %1$s"),  # the 1 of a placeholder is no number
    ("see https://a.example/b https://a.example/c", "https://a.example/b https://a.example/c"),
    ("Tom and Anna Lee Smith met.", "Tom und Anna Lee Smith trafen sich."),
]
FAULTY = [
    ("A man rides a bike.", " ", [Fault("omission", "A man rides a bike.")]),
    ("Yes.", "Ja, " + "das ist eine andere lange Geschichte " + "aus der alten Zeit.", [Fault("addition")]),
    ("A dog.", "Ein Hund und und und und und.", [Fault("repetition")]),
    (
        "In 15 days.",
        "In 13 Tagen.",
        [Fault("number differs", "15 missing"), Fault("number differs", "13 added")],
    ),
    ("42", "", [Fault("number differs", "42 missing")]),  # no language is lost
    ("Copy %s.", "Kopiere.", [Fault("placeholder", "%s missing")]),
    ("Open your iPhone.", "Öffne das Telefon.", [Fault("placeholder", "iPhone missing")]),
    ("It weighs %.1fkg.", "Es wiegt %.1f.", [Fault("placeholder", "kg missing")]),
    ("Copy it.", "Kopiere {name}.", [Fault("placeholder", "{name} added")]),
    ("Open the small file now.", "Open the small file jetzt.", [Fault("copied", "Open the small file")]),
    ("a small file", "a small file.", [Fault("copied", "a small file.")]),
]


@pytest.mark.parametrize(("source", "target"), FINE)
def test_good_translations_have_no_faults(source: str, target: str) -> None:
    assert faults(source, target, "en", "de") == []


@pytest.mark.parametrize(("source", "target", "expected"), FAULTY)
def test_faults_are_found(source: str, target: str, expected: list[Fault]) -> None:
    assert faults(source, target, "en", "de") == expected


def test_copied_words_are_the_longest_run_and_the_earliest_of_the_translation() -> None:
    draw = random.Random(1)
    found = 0
    for _ in range(300):
        vocabulary = ["aside", "Berlin", "cabin", "dairy", "early"][: draw.randint(2, 5)]
        ours, theirs = (draw.choices(vocabulary, k=draw.randint(0, 20)) for _ in range(2))
        copied = [
            one.detail for one in faults(" ".join(ours), " ".join(theirs), "en", "de") if one.kind == "copied"
        ]

        start, _, length = SequenceMatcher(None, theirs, ours, autojunk=False).find_longest_match()
        run = theirs[start : start + length]
        if ours != theirs:
            assert copied == ([" ".join(run)] if length > 3 and length - run.count("Berlin") > 1 else [])
            found += len(copied)
    assert 50 < found < 250


def test_within_one_language_equal_words_are_no_fault() -> None:
    assert faults("a small file", "a small file", "en", "en") == []


def test_a_flag_is_readable() -> None:
    assert str(Fault("copied", "a small file")) == "copied: a small file"
    assert str(Fault("repetition")) == "repetition"
    assert set(FLAGS) >= {"omission", "addition", "repetition", "number differs", "placeholder", "copied"}
