from __future__ import annotations

import pytest

from dragoman.text.checks.numbers import cardinals, different_numbers

EQUAL = [
    ("1,000-2,000 dogs", "1,000-2,000 dogs", "en", "en"),
    ("a map at 1:25,000", "eine Karte 1:25.000", "en", "de"),
    ("0.125-0.250 mm", "0,125 bis 0,250 mm", "en", "de"),
    ("$1,000-$2,000", "1.000-2.000 $", "en", "de"),
    ("Take 1½ cups", "Nimm 1,5 Tassen", "en", "de"),
    ("1½ cups", "1 ½ Tassen", "en", "de"),
    ("a room of 5 ㎡", "ein Raum von 5 Quadratmetern", "en", "de"),
    ("1,500 dogs on March 5", "1.500 Hunde am 5.3.", "en", "de"),
    ("on 2020-03-05", "am 5. März 2020", "en", "de"),
    ("5 May 2021", "2021年5月5日", "en", "zh"),
    ("in May", "5月", "en", "zh"),
    ("at 3 pm", "um 15 Uhr", "en", "de"),
    ("14:30", "2:30 pm", "de", "en"),
    ("the 1990s", "die 90er Jahre", "en", "de"),
    ("the 20th century", "das XX. Jahrhundert", "en", "de"),
    ("1st and 2nd", "erste und zweite", "en", "de"),
    ("a 3-storey house", "ein dreistöckiges Haus", "en", "de"),
    ("2 men", "zwei Männer", "en", "de"),
    ("both dogs", "zwei Hunde", "en", "de"),
    ("12 eggs", "une douzaine d'œufs", "en", "fr"),
    ("250 people", "zweihundertfünfzig Leute", "en", "de"),
    ("twenty-five", "25", "en", "de"),
    ("5 million", "5.000.000", "en", "de"),
    ("20,000", "2万", "en", "zh"),
    ("1 000 000,5 F", "1,000,000.5 F", "fr", "en"),
    ("1,234,567", "1.234.567", "en", "de-AT"),
    ("$3.50", "3,50 $", "en", "de"),
    ("pages 3-7", "Seiten 3–7", "en", "de"),
    ("٣ dogs", "3 Hunde", "ar", "de"),
    ("١٬٥٠٠٫٥", "1,500.5", "ar", "en"),
    ("CO₂ emissions", "CO2-Emissionen", "en", "de"),
    ("80 m².", "80 square metres.", "en", "en"),
    ("5 m³", "5 Kubikmeter", "en", "de"),
    ("10⁻¹² and x₁₂", "10^-12 und x12", "en", "de"),
    ("007", "7", "en", "de"),
    ("10 %", "zehn Prozent", "en", "de"),
    ("3 dogs", "kolme koiraa", "en", "fi"),  # words that are not known here
    ("a dog", "1 Hund", "en", "de"),
    ("no number", "keine", "en", "de"),
    ("", "", "en", "de"),
]
DIFFERENT = [
    ("between 0.5 and 5.0", "zwischen 0. und 5.0", "en", "de", ["0.5 missing"]),
    ("in 15 days", "in 13 Tagen", "en", "de", ["15 missing", "13 added"]),
    ("page 3", "Seite", "en", "de", ["3 missing"]),
    ("a page", "Seite 47", "en", "de", ["47 added"]),
    ("80 m²", "90 m²", "en", "de", ["80 missing", "90 added"]),
    ("version 7.4.1", "Version 7.4.2", "en", "de", ["7.4.1 missing", "7.4.2 added"]),
    ("1,500 m", "1.600 m", "en", "de", ["1,500 missing", "1.600 added"]),
    ("3.5 points", "3,7 Punkte", "en", "de", ["3.5 missing", "3,7 added"]),
    ("two men", "drei Männer", "en", "de", ["two missing", "drei added"]),
    ("four dogs", "vierzehn Hunde", "en", "de", ["four missing", "vierzehn added"]),
    ("cinco gatos", "six chats", "es", "fr", ["cinco missing", "six added"]),
    ("٣٤", "35", "ar", "de", ["٣٤ missing", "35 added"]),
    ("7 and 7", "8", "en", "de", ["7 missing", "8 added"]),
    ("47 dogs", "kolme koiraa", "en", "fi", ["47 missing"]),
    ("5 dogs", "5.000.000 Hunde", "en", "de", ["5 missing", "5.000.000 added"]),
    ("15 days", "3 Tage", "en", "de", ["15 missing", "3 added"]),  # no clock: 15 is not 3 pm
    ("1,000-2,000 dogs", "1.000-3.000 Hunde", "en", "de", ["1,000-2,000 missing", "1.000-3.000 added"]),
    ("1½ cups", "2½ Tassen", "en", "de", ["1.5 missing", "2.5 added"]),
]
EQUAL += [(f"a {one}.", f"ein {one}.", "en", "de") for one in ("5.10.123", "91.0.864", "1,50,000")]
EQUAL += [("\u00bd cup", "0,5 Tassen", "en", "de"), ("0.5 l", "\u00bd l", "en", "de")]
EQUAL += [
    ("In 2010 1/4 of all moved", "2010 zog 1/4 um", "en", "de"),
    ("page 12 3/4", "Seite 12, 3 von 4", "en", "de"),
]
EQUAL += [("9923,127", "9923.127", "de", "en")]


@pytest.mark.parametrize(("source", "target", "ours", "theirs"), EQUAL)
def test_equal_values_are_not_reported(source: str, target: str, ours: str, theirs: str) -> None:
    assert different_numbers(source, target, ours, theirs) == []
    assert different_numbers(target, source, theirs, ours) == []


@pytest.mark.parametrize(("source", "target", "ours", "theirs", "expected"), DIFFERENT)
def test_different_values_are(source: str, target: str, ours: str, theirs: str, expected: list[str]) -> None:
    assert different_numbers(source, target, ours, theirs) == expected
    swapped = {"missing": "added", "added": "missing"}
    reverse = [f"{one.split()[0]} {swapped[one.split()[1]]}" for one in expected]
    assert sorted(different_numbers(target, source, theirs, ours)) == sorted(reverse)


def test_the_words_of_each_language_count_from_zero_to_twenty() -> None:
    for language in ("en", "de_CH", "fr", "es"):
        assert len(cardinals(language)) == len(set(cardinals(language))) == 21
    assert cardinals("de")[17] == "siebzehn"
    assert cardinals("fr")[4] == "quatre"
    assert cardinals("xx") == []


def test_long_digits_take_no_long_time() -> None:
    assert different_numbers("1" * 20_000, "1," * 20_000 + "1", "en", "de")
    assert different_numbers("IVXLCDM" * 5000, "15", "en", "de") == ["15 added"]
