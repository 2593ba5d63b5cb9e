"""Synthetic sources: what is written for each line, and what is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

import pytest
from tests.translation.bundles import PAIRS, learnt_bundle

from dragoman import Translator
from dragoman.base.errors import ConfigError
from dragoman.text.noise import scrambled
from dragoman.translation import synthetic
from dragoman.translation.native.build import unavailable
from dragoman.translation.search.options import Decoding, Sample
from dragoman.translation.synthetic import back_translated
from dragoman.translation.translation import Translation

LINES = [target for _, target in PAIRS]
HOT = Sample(seed=7, temperature=1.6)


@pytest.fixture(scope="module", params=["pytorch", "native"])
def translator(request: pytest.FixtureRequest) -> Translator:
    if request.param == "native" and (why := unavailable()):
        pytest.skip(why)
    return Translator.of(learnt_bundle(reverse=True), engine=request.param)


class Scripted:
    """Translates each line as a table says; `True` is a translation that is cut short."""

    def __init__(self, table: dict[str, list[str | bool]]) -> None:
        self._table = table

    def stream(self, lines: Any, decoding: Any = None) -> Iterator[Translation]:
        for line in lines:
            found = [
                Translation(line, "cut", 0.0, (), (), True)
                if one is True
                else Translation(line, str(one), 0.0, (), (), False)
                for one in self._table[line]
            ]
            yield Translation(
                line, found[0].text, 0.0, (), (), found[0].truncated, alternatives=tuple(found[1:])
            )


def scripted(table: dict[str, list[str | bool]], **options: Any) -> list[synthetic.SyntheticPairs]:
    how = options.pop("how", "beam")
    return [*back_translated(cast(Any, Scripted(table)), [*table], Decoding(), how=how, **options)]


def test_a_beam_gives_the_translations(translator: Translator) -> None:
    pairs = [*back_translated(translator, LINES, Decoding(), how="beam")]

    assert [(one.sources, one.target) for one in pairs] == [((source,), target) for source, target in PAIRS]
    assert pairs[0].rows() == f"{PAIRS[0][0]}\t{PAIRS[0][1]}\n"


def test_draws_are_those_of_translate(translator: Translator) -> None:
    found = translator.translate(LINES, sample=HOT, n_best=3)
    pairs = back_translated(translator, LINES, Decoding(sample=HOT, n_best=3), how="sample", per_line=3)

    for one, line in zip(pairs, found, strict=True):
        drawn = [each for each in (line, *line.alternatives) if not each.truncated]
        broken = [each for each in drawn if any(map(synthetic._BROKEN.search, each.text))]
        assert one.sources == tuple(dict.fromkeys(each.text for each in drawn if each not in broken))
        assert len(one.sources) + one.left_out.total() == 3


def test_noise_is_that_of_the_seed_the_line_and_the_copy(translator: Translator) -> None:
    def noisy(lines: list[str], **options: Any) -> list[tuple[str, ...]]:
        pairs = back_translated(translator, lines, Decoding(), how="noise", per_line=3, **options)
        return [one.sources for one in pairs]

    whole = noisy(LINES, seed=4)
    assert whole == [
        tuple(dict.fromkeys(scrambled(source, f"4 {number} {copy}") for copy in range(3)))
        for number, (source, _) in enumerate(PAIRS, 1)
    ]
    assert noisy(LINES[2:], seed=4, first=3) == whole[2:]
    assert noisy(LINES, seed=5) != whole


def test_what_is_left_out_and_why() -> None:
    long = "so viele Wörter stehen hier, dass eine kurze Antwort nicht reicht, und noch mehr davon"
    pairs = scripted(
        {
            "": [""],
            "Ein Hund.": [""],
            "Zwei Hunde.": [True],
            "Der Hund schläft.": ["the dog " * 9],
            "Noch ein Hund.": ["a dog, " + "which is far longer than what it translates, " * 2],
            long: ["so"],
            "Die Katze ist hier.": ["die katze ist hier."],
            "Berlin.": ["Berlin."],
            "Ein Vogel.": ["a\x00 bird"],
            "Noch ein Vogel.": ["a bird\ufffd"],
            "Tab\tTab": ["tab\ttab"],
            "Eine Kuh.": ["a cow", "a cow", "one cow"],
        }
    )

    assert [one.sources for one in pairs] == [
        *[()] * 7,
        ("Berlin.",),
        (),
        (),
        ("tab tab",),
        ("a cow", "one cow"),
    ]
    assert [one.left_out for one in pairs] == [
        Counter([reason])
        for reason in (
            *("empty line", "empty translation", "cut short", "repeats itself"),
            *(synthetic.LENGTH, synthetic.LENGTH, "copy of the line"),
        )
    ] + [
        Counter(),
        Counter([synthetic.BROKEN]),
        Counter([synthetic.BROKEN]),
        Counter(),
        Counter([synthetic.EQUAL]),
    ]
    assert pairs[10].rows() == "tab tab\tTab Tab\n"


def test_an_empty_line_counts_once() -> None:
    (one,) = scripted({" ": ["", "", ""]}, per_line=3)
    assert one.left_out == Counter(["empty line"])


def test_a_line_that_is_cut_has_no_noisy_copies() -> None:
    (one,) = scripted({"Ein Hund.": [True]}, how="noise", per_line=2)
    assert (one.sources, one.left_out) == ((), Counter({"cut short": 2}))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"how": "magic"}, "how = 'magic'"), ({"how": "greedy", "per_line": 2}, "greedy")],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        scripted({"Ein Hund.": ["A dog."]}, **options)


def test_lines_are_not_held() -> None:
    """Memory stays bounded: a line is asked for only when the pairs of earlier ones are taken."""
    asked = []

    def lines() -> Iterator[str]:
        for number in range(100):
            asked.append(number)
            yield "Ein Hund."

    pairs = back_translated(cast(Any, Scripted({"Ein Hund.": ["A dog."]})), lines(), Decoding(), how="beam")
    next(pairs)
    assert len(asked) == 1
