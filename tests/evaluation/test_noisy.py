"""The costs of noise against a translator whose faults are known."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dragoman.evaluation.evaluate import evaluate
from dragoman.evaluation.noisy import measure_noise, noise_text
from dragoman.text.noise import NOISES
from dragoman.translation.search.options import Decoding
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator

WORDS = {"the": "der", "dog": "hund", "sees": "sieht", "an": "einen", "old": "alten", "bird": "vogel"}
PAIRS = [("The dog sees an old bird.", "Der hund sieht einen alten vogel."), ("Dog", "Hund")]


def word_by_word(text: str) -> str:
    """Stands spaces, breaks, marks, tags and any case; keeps a word that it does not know."""

    def other(found: re.Match[str]) -> str:
        word = found[0]
        known = WORDS.get(word.lower(), word)
        return known.upper() if word.isupper() else known.title() if word.istitle() else known

    return re.sub(r"(?<![<{%/$])\b[A-Za-z]+", other, " ".join(text.split()))


class Translating:
    """Called as a `Translator` is by `evaluate`, and keeps what it was given."""

    def __init__(self) -> None:
        self.given: list[tuple[list[str], Any]] = []

    def pair(self, _: Decoding) -> tuple[str, str]:
        return "en", "de"

    def translate(self, lines: list[str], _: Decoding, *, context: Any = None) -> list[Any]:
        self.given.append((lines, context))
        return [
            cast(Translation, SimpleNamespace(source=line, text=word_by_word(line), truncated=False))
            for line in lines
        ]


def test_what_noise_costs() -> None:
    fake, decoding = Translating(), Decoding()
    translator = cast(Translator, fake)
    clean = evaluate(translator, PAIRS, decoding)
    rows = measure_noise(translator, PAIRS, clean, decoding, context=["before", ""])
    costs = {row["kind"]: row for row in rows}

    assert [*costs] == [kind for kind in NOISES if kind not in ("diacritics", "quotes")]
    assert {row["lines"] for row in rows} == {1, 2}
    assert costs["spaces"]["lines"] == costs["breaks"]["lines"] == 1  # the other line has one word
    for row in rows:
        assert (row["chrf_clean"], row["bleu_clean"]) == pytest.approx((100, 100))
        assert row["chrf_lost"] == pytest.approx(100 - row["chrf"])
    # References have the capitals, emoji and tags, too.
    free = ("capitals", "title", "emoji", "tags", "spaces", "breaks")
    assert [costs[kind]["chrf_lost"] for kind in free] == pytest.approx([0] * len(free))
    assert min(costs[kind]["chrf_lost"] for kind in ("lower", "typos", "punctuation")) > 0
    assert {tuple(context) for lines, context in fake.given[1:] if len(lines) == 1} == {(("before", ""),)}
    assert any("\n" in line or "\r" in line for lines, _ in fake.given for line in lines)  # breaks arrive
    again = measure_noise(translator, PAIRS, clean, decoding)
    assert again == rows
    assert measure_noise(translator, PAIRS, clean, decoding, seed=2) != rows
    table = noise_text(rows).splitlines()
    assert [line.split()[0] for line in table] == ["noise", *costs, "mean"]
    assert table[1].split() == ["capitals", "2", "100.00", "100.00", "0.00", "100.00", "100.00", "0.00"]


def test_noise_without_a_reference_to_compare_with_is_left_out() -> None:
    translator = cast(Translator, Translating())
    pairs = [("The dog.", " "), ("12", "12")]
    rows = measure_noise(translator, pairs, evaluate(translator, pairs, Decoding()), Decoding())
    assert {row["lines"] for row in rows} == {2}  # those that change the first line alone are left out
