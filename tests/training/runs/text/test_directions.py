"""Texts in several languages: their directions, their shares, and the text of their vocabulary."""

from __future__ import annotations

from collections import Counter

import pytest

from dragoman.base.errors import ConfigError
from dragoman.text import toy
from dragoman.text.corpora.corpus import Corpus, open_pairs
from dragoman.training.runs.recipe import CorpusConfig, DataConfig, Recipe
from dragoman.training.runs.text.directions import (
    directions_of_run,
    fair_pairs,
    shares,
    swapped,
    validation_of,
    with_languages,
)

PAIRS = toy.pairs(seed=3, count=120)  # English and German


def text(pairs: list[tuple[str, str]], languages: tuple[str | None, str | None] = (None, None)) -> Corpus:
    corpus = open_pairs(pairs)
    corpus.source_language, corpus.target_language = languages
    return corpus


def corpus(name: str, source: str | None = None, target: str | None = None, **more: object) -> CorpusConfig:
    return CorpusConfig(
        name=name,
        train=("x",),
        source_language=source,
        target_language=target,
        **more,  # type: ignore[arg-type]
    )


def recipe(*corpora: CorpusConfig, temperature: float = 1.0, **tokenizer: object) -> Recipe:
    from dragoman.text.tokenizers.tokenizer import TokenizerConfig

    return Recipe(
        data=DataConfig(corpora=corpora, temperature=temperature),
        tokenizer=TokenizerConfig(**tokenizer),  # type: ignore[arg-type]
    )


def test_the_directions_of_a_run() -> None:
    both = corpus("a", "en", "de", both=True)
    assert directions_of_run([both, corpus("b", "en", "fr")]) == (("en", "de"), ("de", "en"), ("en", "fr"))
    assert directions_of_run([corpus("a", "en", "de"), corpus("b", "en", "de")]) == ()


def test_languages_that_need_marks() -> None:
    opened = {"a": text(PAIRS, ("en", "de")), "b": text([("A dog.", "Un chien.")], ("en", "fr"))}
    one, two = corpus("a"), corpus("b")
    found = with_languages(recipe(one, two), opened)
    assert (found.data.source_language, found.data.target_language) == ("en", "mul")
    assert found.tokenizer.languages == ("de", "fr")
    assert [(c.source_language, c.target_language) for c in found.data.corpora] == [
        ("en", "de"),
        ("en", "fr"),
    ]
    found = with_languages(recipe(one, two, source_mark=True), opened)
    assert found.tokenizer.languages == ("de", "fr", "en")
    back = {"a": swapped(opened["a"]), "b": swapped(opened["b"])}
    found = with_languages(recipe(one, two), back)
    assert (found.data.source_language, found.data.target_language) == ("mul", "en")
    assert found.tokenizer.languages == ()  # one target language needs no mark


def test_scripts_of_a_language_are_two_targets() -> None:
    texts = {
        "a": text([("A dog sleeps.", "一只狗在睡觉。")], ("en", "zh-Hans")),
        "b": text([("A dog sleeps.", "一隻狗在睡覺。")], ("en", "zh-Hant")),
        "c": text([("A dog sleeps.", "一只狗在睡觉。")], ("en", "zh")),
    }
    found = with_languages(recipe(corpus("a"), corpus("b")), texts)
    assert found.tokenizer.languages == ("zh-Hans", "zh-Hant")
    with pytest.raises(ConfigError, match="zh-Hant and zh name one language"):
        with_languages(recipe(corpus("b"), corpus("c")), texts)
    tuned = with_languages(
        recipe(corpus("b"), corpus("c")), texts, several=True
    )  # the base has marks for both
    assert [one.target_language for one in tuned.data.corpora] == ["zh-Hant", "zh"]


def test_one_direction_stays_as_it_is() -> None:
    one = recipe(corpus("a"), corpus("b"))
    assert with_languages(one, {"a": text(PAIRS, ("en", "de")), "b": text(PAIRS)}) is one


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        ((("en", "de"), ("en", None), ("en", "fr")), "b: the names do not say which languages"),
        ((("en", "de"), ("en", "en"), ("en", "fr")), "b: both sides are in en"),
        ((("en", "de"), ("en-GB", "fr"), ("en", "fr")), "en and en-GB name one language"),
        ((("en", "de-AT"), ("en", "de_AT"), ("en", "fr")), "de-AT and de_AT name one language"),
        ((("en", "de"), ("en", "Czech text"), ("en", "fr")), "b: the names do not say which languages"),
        ((("en", "de"), ("en", "fr"), ("en", "cs")), "b: its target language is fr, but the text is in de"),
        ((("en", "de"), ("de", "en"), ("en", "cs")), "b: its source language is de, but the text is in en"),
    ],
)
def test_texts_whose_languages_cannot_be(
    languages: tuple[tuple[str | None, str | None], ...], message: str
) -> None:
    names = "abc"
    opened = {name: text(PAIRS, pair) for name, pair in zip(names, languages, strict=True)}
    with pytest.raises(ConfigError, match=message) as error:
        with_languages(recipe(*map(corpus, names)), opened)
    assert error.value.hint


def test_a_vocabulary_without_a_language_of_the_text() -> None:
    opened = {"a": text(PAIRS, ("en", "de")), "b": text([("A dog.", "Un chien.")], ("en", "fr"))}
    with pytest.raises(ConfigError, match="tokenizer.languages has no fr"):
        with_languages(recipe(corpus("a"), corpus("b"), languages=("de", "cs")), opened)


def test_text_learnt_in_both_directions_needs_one_vocabulary() -> None:
    with pytest.raises(ConfigError, match="a: both = true needs one vocabulary"):
        recipe(corpus("a", both=True), lowercase="source")


def test_validation_text_by_direction() -> None:
    a, b = text(PAIRS[:3], ("en", "de")), text(PAIRS[3:5], ("en", "de"))
    corpora = [corpus("a", "en", "de", both=True), corpus("b", "en", "de"), corpus("c", "en", "fr")]
    found = validation_of(corpora, {"a": a, "b": b})
    assert [*found] == [("en", "de"), ("de", "en")]
    assert [(line.source, line.target) for line in found["en", "de"]] == PAIRS[:5]
    assert [(line.target, line.source) for line in found["de", "en"]] == PAIRS[:3]


def test_shares_by_temperature() -> None:
    """1,000, 100 and 10 pairs at temperature 2: in proportion to their square roots, 1,110 together."""
    corpora = corpus("a", "en", "de"), corpus("b", "en", "fr"), corpus("c", "en", "cs")
    sizes = {"a": 1000.0, "b": 100.0, "c": 10.0}
    assert shares(recipe(*corpora), sizes) == {"a": 1, "b": 1, "c": 1}
    found = shares(recipe(*corpora, temperature=2), sizes)
    pairs = {name: found[name] * size for name, size in sizes.items()}
    assert sum(pairs.values()) == pytest.approx(1110)
    assert pairs["a"] / pairs["c"] == pytest.approx(10)
    assert pairs["a"] / pairs["b"] == pytest.approx(10**0.5)


def test_translations_of_teachers_share_the_direction_of_their_text() -> None:
    several = recipe(corpus("a", "en", "de"), corpus("b", "en", "fr"), temperature=2.0)
    found = shares(several, {"a": 200.0, "a.outputs": 200.0, "b": 50.0, "b.outputs": 50.0})
    assert found["a"] == found["a.outputs"] < 1 < found["b"] == found["b.outputs"]
    assert several.data.annotating_of("train.b.outputs").target_language == "fr"


def test_texts_of_one_direction_share_its_share() -> None:
    corpora = corpus("a", "en", "de"), corpus("b", "en", "de"), corpus("c", "en", "cs")
    found = shares(recipe(*corpora, temperature=1000), {"a": 300.0, "b": 100.0, "c": 100.0})
    assert found["a"] == found["b"]
    assert 400 * found["a"] == pytest.approx(100 * found["c"], rel=0.01)


@pytest.mark.parametrize("shared", [True, False])
def test_the_text_of_a_vocabulary_has_more_of_small_languages(shared: bool) -> None:
    large = text([(f"large {n}", f"groß {n}") for n in range(3200)], ("en", "de"))
    small = text([(f"other {n}", f"malý {n}") for n in range(100)], ("en", "cs"))
    corpora = [corpus("a", "en", "de"), corpus("b", "en", "cs")]
    pairs = list(fair_pairs(corpora, {"a": large, "b": small}, shared=shared, seed=1))
    words = Counter(side.split()[0] for pair in pairs for side in pair if side)
    # 3,200 and 100 lines: 32^(1/5) is 2.
    assert words["groß"] / words["malý"] == pytest.approx(32 ** (1 / 5), rel=0.01)
    if shared:
        assert not any(right for _, right in pairs)
    else:
        assert {right.split()[0] for _, right in pairs if right} == {"groß", "malý"}
        assert {left.split()[0] for left, _ in pairs if left} == {"large", "other"}
