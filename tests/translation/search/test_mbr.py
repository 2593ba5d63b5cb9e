"""Minimum Bayes risk, compared with sacreBLEU and with its definition."""

import math

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from dragoman.translation.search.mbr import Utility, expected_utilities

TEXTS = [
    "Ein Mann fährt Rad.",
    "Ein Mann fährt auf dem Rad.",
    "Der Mann radelt.",
    "Hund",
    "",
    "Ein  Mann fährt Rad .",
]
words = st.lists(st.sampled_from("der Hund sieht die Katze und eine Maus .".split()), max_size=9).map(
    " ".join
)


def utility(kind: Utility, hypothesis: str, reference: str) -> float:
    if kind == "chrf":
        return sacrebleu.sentence_chrf(hypothesis, [reference]).score / 100
    return (
        sacrebleu.sentence_bleu(
            hypothesis,
            [reference],
            smooth_method="add-k",
            smooth_value=1,
            tokenize="none",
            use_effective_order=False,
        ).score
        / 100
    )


@pytest.mark.parametrize("kind", ["chrf", "bleu"])
@given(texts=st.lists(words, min_size=1, max_size=5), data=st.data())
def test_the_definition_with_sacrebleu(kind: Utility, texts: list[str], data: st.DataObject) -> None:
    logp = data.draw(st.lists(st.floats(-30, 0), min_size=len(texts), max_size=len(texts)))
    total = sum(map(math.exp, logp))
    expected = [
        sum(
            math.exp(each) / total * utility(kind, one, other)
            for other, each in zip(texts, logp, strict=True)
        )
        for one in texts
    ]
    assert expected_utilities(texts, logp, kind) == pytest.approx(expected, abs=1e-9)


def test_chrf_of_real_sentences() -> None:
    expected = [sum(utility("chrf", one, other) for other in TEXTS) / len(TEXTS) for one in TEXTS]
    assert expected_utilities(TEXTS, [0.0] * len(TEXTS)) == pytest.approx(expected)


def test_punctuation_is_a_word_of_its_own() -> None:
    same, other = expected_utilities(["Ein Hund .", "Ein Hund."], [0.0, 0.0], "bleu")
    assert same == other == pytest.approx(1)


def test_characters_are_words_where_there_are_no_spaces() -> None:
    (first, _) = expected_utilities(["我看见狗", "我看见猫"], [0.0, 0.0], "bleu")
    assert first > 0.5


def test_probabilities_may_be_tiny() -> None:
    found = expected_utilities(["a b", "a c", "a c"], [-2000.0, -2001.0, -2001.0])
    assert found[1] == found[2]
    assert all(0 < each <= 1 for each in found)


def test_the_one_that_the_others_agree_with() -> None:
    texts = ["Ein Hund bellt laut.", "Ein Hund bellt.", "Eine Katze schläft."]
    values = expected_utilities(texts, [math.log(0.34), math.log(0.33), math.log(0.33)])
    assert max(values) in values[:2]
    assert values[2] == min(values)
