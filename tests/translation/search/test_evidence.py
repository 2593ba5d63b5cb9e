from __future__ import annotations

import math

import numpy as np
import pytest

from dragoman.translation.search.alignment import Alignment
from dragoman.translation.search.evidence import FIGURES, evidence_of

SOURCE, TARGET = "the old dog", "der Hund hier"
# Tokens: the | ol | d | dog, and: der | Hund | hi | er
ALIGNMENT = Alignment(
    SOURCE,
    TARGET,
    source=((0, 3), (4, 6), (6, 7), (8, 11)),
    target=((0, 3), (4, 8), (9, 11), (11, 13)),
    links=((0, 0), (3, 1), (3, 2), (3, 3)),
)
ATTENTION = (
    (0.7, 0.1, 0.0, 0.1, 0.1),
    (0.1, 0.1, 0.1, 0.6, 0.1),
    (0.0, 0.1, 0.1, 0.3, 0.5),
    (0.1, 0.0, 0.1, 0.4, 0.4),
    (0.0, 0.0, 0.0, 0.1, 0.9),
)
LOGP = (-0.1, -0.5, -4.0, -3.0, -0.2)


def figures(*arguments: object, **options: object) -> dict[str, float]:
    return dict(evidence_of(*arguments, **options).figures)  # type: ignore[arg-type]


def test_the_figures_by_numpy() -> None:
    logp, weights_TS = np.array(LOGP), np.array(ATTENTION)
    words_TW = np.stack([weights_TS[:, 0], weights_TS[:, 1:3].sum(1), weights_TS[:, 3]], 1)
    shares_TW = words_TW / words_TW.sum(1, keepdims=True)
    covers_T = np.array([True, True, True, True, False])  # the end has no letters
    uncovered = []
    for t in range(5):
        others_UW = shares_TW[covers_T & (np.arange(5) != t)]
        uncovered.append(-logp[t] * (shares_TW[t] * (1 - others_UW.sum(0)).clip(0)).sum())
    expected = {
        "logp mean": logp.mean(),
        "surprise greatest": math.log(5),
        "logp least of the last 2": -3.0,
        "characters ratio": math.log(14 / 12),
        "surprise at the uncovered": math.log1p(max(uncovered)),
    }

    assert list(expected) == list(FIGURES)
    assert figures(SOURCE, TARGET, LOGP, ATTENTION, ALIGNMENT) == pytest.approx(expected)


def test_it_names_the_words() -> None:
    evidence = evidence_of(SOURCE, TARGET, LOGP, ATTENTION, ALIGNMENT)

    assert evidence.least_covered == "old"
    assert evidence.least_likely == "Hund hier"


def test_with_all_words_linked_the_least_covered_one_is_named() -> None:
    linked = Alignment(SOURCE, TARGET, ALIGNMENT.source, ALIGNMENT.target, ((0, 0), (2, 1), (3, 2)))

    assert evidence_of(SOURCE, TARGET, LOGP, ATTENTION, linked).least_covered == "old"


def test_the_longest_run_of_words_without_a_link() -> None:
    source = "a bb c dd ee f"
    spans = ((0, 1), (2, 4), (5, 6), (7, 9), (10, 12), (13, 14))
    rows = ((1 / 7,) * 7,) * 2
    alignment = Alignment(source, "x", spans, ((0, 1),), ((2, 0),))

    assert evidence_of(source, "x", (-1.0, -1.0), rows, alignment).least_covered == "dd ee f"


def test_a_model_without_attention_has_the_other_figures() -> None:
    with_it, without = figures(SOURCE, TARGET, LOGP, ATTENTION, ALIGNMENT), figures(SOURCE, TARGET, LOGP)

    assert without == with_it | {"surprise at the uncovered": 0.0}
    assert evidence_of(SOURCE, TARGET, LOGP).least_likely == TARGET


def test_a_gap_is_seen_where_the_surprising_token_attends_to_what_no_other_does() -> None:
    """The second token has to be "old" but is not. The attention is that of a good translation."""
    spans = ((0, 3), (4, 7), (8, 11))
    alignment = Alignment(SOURCE, "der Hund", spans, ((0, 3), (4, 8)), ((0, 0), (1, 1)))
    rows = ((0.8, 0.1, 0.0, 0.1), (0.0, 0.8, 0.1, 0.1), (0.1, 0.0, 0.1, 0.8))
    good, gap, elsewhere = (
        figures(SOURCE, "der Hund", logp, rows, alignment)
        for logp in ((-0.1, -0.1, -0.1), (-0.1, -6.0, -0.1), (-0.1, -0.1, -6.0))
    )

    name = "surprise at the uncovered"
    assert gap[name] > 1 > 4 * good[name]
    assert elsewhere[name] < gap[name]


def test_a_translation_without_letters_is_covered_by_all_its_tokens() -> None:
    alignment = Alignment("a b", "!?", ((0, 1), (2, 3)), ((0, 1), (1, 2)), ((0, 0), (1, 1)))
    rows = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

    found = figures("a b", "!?", (0.0, -1.0, 0.0), rows, alignment)
    assert found["surprise at the uncovered"] == pytest.approx(math.log(2))  # no other attends to "b"
    assert (
        figures("a b", "!?", (-1.0, -1.0, 0.0), rows[:1] * 2 + rows[2:], alignment)[
            "surprise at the uncovered"
        ]
        == 0
    )


@pytest.mark.parametrize("logp", [(), (-math.inf, -0.1), (-1e9,)])
def test_the_figures_are_finite(logp: tuple[float, ...]) -> None:
    assert all(map(math.isfinite, figures(" ", "", logp).values()))
    assert figures("a", "b", (-math.inf, 0.0))["logp least of the last 2"] == -30


def test_a_script_without_spaces_has_a_word_for_each_token() -> None:
    source, target = "老狗睡", "老犬が寝る"
    alignment = Alignment(
        source, target, ((0, 1), (1, 2), (2, 3)), ((0, 2), (2, 3), (3, 5)), ((0, 0), (2, 1), (2, 2))
    )
    evidence = evidence_of(source, target, (-1.0, -9.0, -1.0, -0.1), ((0.25,) * 4,) * 4, alignment)

    assert evidence.least_covered == "狗"
    assert evidence.least_likely == "老犬が寝る"


def test_a_source_whose_tokens_have_no_text() -> None:
    alignment = Alignment("\u3000", "a", ((0, 0),), ((0, 1),), ())

    assert all(
        map(
            math.isfinite,
            figures("\u3000", "a", (-1.0, -1.0), ((0.5, 0.5),) * 2, alignment).values(),
        )
    )
