"""`evaluate`: the translator's own translations, scored as `score_corpus` scores them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from tests.translation.letters import LINES, Echo, Letters, translator_of
from tests.translation.search.reference import History

import dragoman
from dragoman import Translator
from dragoman.base.errors import ConfigError, DataError
from dragoman.evaluation.metrics import score_corpus
from dragoman.text.corpora.context import Context
from dragoman.text.tokenizers.tokenizer import TokenizerConfig
from dragoman.training.processes.distributed import World
from dragoman.translation.search.options import Decoding

PAIRS = [(line, "abc def" if number % 2 else "a b c") for number, line in enumerate(LINES)]


def test_it_is_translate_and_score_corpus() -> None:
    translator = translator_of(History(vocab=14, seed=2, end=0.5))
    evaluation = dragoman.evaluate(translator, iter(PAIRS), beam=2, bootstrap=50)

    assert list(evaluation.translations) == translator.translate(LINES, beam=2)
    assert evaluation.hypotheses == [one.text for one in translator.translate(LINES, Decoding(beam=2))]
    assert evaluation.references == tuple(reference for _, reference in PAIRS)
    assert evaluation.scores == score_corpus(
        evaluation.hypotheses, evaluation.references, target_language="de", bootstrap=50
    )
    assert evaluation.sentences_per_second == pytest.approx(len(PAIRS) / evaluation.seconds)


def test_some_lines_and_lower_case_are_scored_from_the_same_translations() -> None:
    translator = translator_of(History(vocab=14, seed=2, end=0.5))
    pairs = [(line, line.upper() or "X") for line in LINES]
    evaluation = dragoman.evaluate(translator, pairs, metrics=("chrf",), bootstrap=0)

    lower = evaluation.score(lowercase=True)
    assert lower.chrf.value > evaluation.scores.chrf.value
    assert evaluation.score([0, 3]) == score_corpus(
        [evaluation.hypotheses[0], evaluation.hypotheses[3]],
        [pairs[0][1], pairs[3][1]],
        target_language="de",
        metrics=("chrf",),
        bootstrap=0,
    )


def test_words_are_split_as_in_the_language_that_is_chosen() -> None:
    class Several(Letters):
        languages, config = ("zh", "de"), TokenizerConfig(kind="mapped")

        def decode(self, ids: Sequence[int]) -> str:
            return "猫在温暖的炉子上睡。"

        def address(self, source: str | None, target: str | None) -> str:
            return ""

        def target_start(self, target: str | None) -> tuple[int, ...]:
            return ()

    translator = Translator(
        cast(Any, Several()), cast(Any, Echo()), source_language="en", target_language="mul"
    )
    reference = "猫在温暖的炉子上睡觉。"
    evaluation = dragoman.evaluate(translator, [("abc", reference)] * 2, to="zh", bootstrap=0)

    assert evaluation.scores == score_corpus(
        evaluation.hypotheses, [reference] * 2, target_language="zh", bootstrap=0
    )
    assert evaluation.scores.bleu.value > 50


class Shares(World):
    """A process of three, which reads from a table what the others give it, once they have."""

    def gather(self, value: Any) -> list[Any]:
        GIVEN[self.rank] = json.loads(json.dumps(value))
        return [GIVEN.get(rank, []) for rank in range(self.size)]


GIVEN: dict[int, Any] = {}


def test_processes_translate_a_share_each_and_have_all() -> None:
    translator = translator_of(History(vocab=14, seed=2, end=0.5))
    pairs = [*PAIRS, ("cab", "x")]
    for size in (3, len(pairs) + 2):
        GIVEN.clear()
        for rank in [*range(size), 0]:
            shared = dragoman.evaluate(translator, pairs, beam=2, world=Shares(rank, size))
            assert len(GIVEN[rank]) == len(range(rank, len(pairs), size))

        assert shared.translations == dragoman.evaluate(translator, pairs, beam=2).translations


def test_contexts_are_given_as_to_translate(monkeypatch: pytest.MonkeyPatch) -> None:
    translator, pairs = translator_of(History(vocab=14, seed=2, end=0.5)), [("ab", "b"), ("b", "a")]
    monkeypatch.setattr(translator, "reads", ("context",))
    given, translate = list[Any](), translator.translate

    def seen(lines: Any, decoding: Any, *, context: Any) -> Any:
        given.append(context)
        return translate(lines, decoding)

    monkeypatch.setattr(translator, "translate", seen)
    for context in ("one two", ["one two", None]):
        dragoman.evaluate(translator, pairs, context=context, bootstrap=0)
    assert given == [[Context("one two"), Context("one two")], [Context("one two"), None]]
    with pytest.raises(DataError, match="line 2 has no context"):
        dragoman.evaluate(translator, pairs, context=["one"])
    with pytest.raises(DataError, match="more contexts than the 2 lines"):
        dragoman.evaluate(translator, pairs, context=["one"] * 3)


def test_truncated_translations_are_counted() -> None:
    endless = translator_of(History(vocab=14, seed=2, end=-40.0))

    assert dragoman.evaluate(endless, [("abc", "abc"), ("", "x")], max_extra_tokens=2).truncated == 1


def test_what_cannot_be_evaluated_is_refused_before_translating() -> None:
    model = History(vocab=14, seed=2)
    translator = translator_of(model)
    with pytest.raises(ConfigError, match="beam = 0"):
        dragoman.evaluate(translator, PAIRS, beam=0)
    wrong: list[dict[str, Any]] = [
        {"metrics": ("blue",)},
        {"metrics": ()},
        {"bootstrap": -3},
        {"bootstrap": True},
    ]
    for options in wrong:
        with pytest.raises(ConfigError):
            dragoman.evaluate(translator, PAIRS, **options)
    for pairs in ([], [("a", None)], [("a", "b", "c")]):
        with pytest.raises(DataError):
            dragoman.evaluate(translator, cast(Any, pairs))
    assert model.encoded == []  # refused before the model is asked
