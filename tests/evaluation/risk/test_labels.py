from __future__ import annotations

from dragoman.evaluation.risk.labels import needs_correction


def test_more_than_half_of_the_words_have_to_change() -> None:
    reference = "der alte Hund schläft"
    hypotheses = [
        "DER ALTE HUND SCHLÄFT",
        "der alte Hund läuft",
        "der alte Esel läuft",
        "ein alter Esel läuft",
        "",
    ]

    assert needs_correction(hypotheses, [reference] * 5, "de") == [False, False, False, True, True]


def test_chinese_is_counted_by_characters() -> None:
    assert needs_correction(["老狗在睡"], ["老狗不睡"], "zh") == [False]
    assert needs_correction(["老狗在睡"], ["老狗不睡"], "de") == [True]
