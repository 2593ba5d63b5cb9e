"""Next words: against probabilities that are computed one token at a time by scoring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

import pytest
import torch
from tests.translation.bundles import bundle_of
from tests.translation.search.reference import History

from dragoman import Translator
from dragoman.base.errors import ConfigError, DataError
from dragoman.models.search.engine import PyTorchEngine
from dragoman.translation.next_words import NextWord, next_words
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam
from dragoman.translation.search.rules import Once, Prefix, Rule

LINE = "A baker sells fresh bread."


@cache
def translator_of(kind: str) -> Translator:
    return Translator.of(bundle_of(kind))


def logp_of_next(translator: Translator, begun: tuple[int, ...]) -> dict[int, float]:
    """The log-probability of every token after these, each scored as a translation of its own."""
    tokenizer = translator.tokenizer
    (source,) = tokenizer.encode_source([LINE])
    special = {tokenizer.pad_id, tokenizer.start_id, tokenizer.end_id}
    ids = [token for token in range(tokenizer.target_size) if token not in special]
    pairs = [(source, (*begun, token)) for token in ids]
    scored = dict(translator.engine.score(pairs, Beam(size=1)))
    return {token: scored[number].token_logp[len(begun)] for number, token in enumerate(ids)}


def test_words_that_are_tokens_are_the_likeliest_tokens() -> None:
    translator = translator_of("words")
    tokenizer = translator.tokenizer
    begun = tuple(tokenizer.encode_target(["Die Katze"])[0])

    found = translator.next_words(LINE, "Die Katze ", most=5)

    probable = sorted(logp_of_next(translator, begun).items(), key=lambda one: -one[1])
    texts = [(tokenizer.decode([*begun, token]), logp) for token, logp in probable[:16]]
    expected = [(text, logp) for text, logp in texts if text.startswith("Die Katze ")][:5]
    assert [one.prefix for one in found] == [text for text, _ in expected]
    assert [one.text for one in found] == [text.removeprefix("Die Katze ") for text, _ in expected]
    for one, (_, logp) in zip(found, expected, strict=True):
        assert one.probability == pytest.approx(math.exp(logp), rel=1e-4)


def test_a_token_is_completed_to_a_word_by_greedy_search() -> None:
    translator = translator_of("bpe")
    tokenizer = translator.tokenizer
    for one in translator.next_words(LINE, "Ein ", most=3):
        begun = tokenizer.encode_target(["Ein"])[0]
        # The greedy path that spells the word, from the first token that can begin it.
        starts = sorted(logp_of_next(translator, tuple(begun)).items(), key=lambda each: -each[1])[:16]
        sums = [total for token, logp in starts if (total := spelled(translator, begun, token, logp, one))]
        assert one.probability == pytest.approx(math.exp(max(sums)), rel=1e-3)


def spelled(
    translator: Translator, begun: list[int], token: int, logp: float, word: NextWord
) -> float | None:
    """The log-probability of the tokens of a word, if the greedy path from this token spells it."""
    tokens, total, reached = [*begun, token], logp, 0.0
    for _ in range(10):
        text = translator.tokenizer.decode(tokens).replace("\n", " ").replace("\r", " ")
        if text == word.prefix:
            reached = total
        elif not word.prefix.startswith(text):
            break
        best, logp = max(logp_of_next(translator, tuple(tokens)).items(), key=lambda one: one[1])
        tokens, total = [*tokens, best], total + logp
    return reached or None


@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters", "words"])
def test_a_space_begins_a_new_word(kind: str) -> None:
    translator = translator_of(kind)
    found = translator.next_words(LINE, "Zwei Boote ", most=16)

    assert found
    assert all(one.prefix.startswith("Zwei Boote ") for one in found)
    assert all(one.text and one.prefix == f"Zwei Boote {one.text}" for one in found)
    assert len({one.text for one in found}) == len(found)
    assert sorted((one.probability for one in found), reverse=True) == [one.probability for one in found]
    assert 0 < sum(one.probability for one in found) <= 1.0001


def test_without_a_space_the_word_may_go_on() -> None:
    translator = translator_of("characters")
    found = translator.next_words(LINE, "Ein B", most=16)

    assert any(one.prefix.startswith("Ein B") and not one.prefix.startswith("Ein B ") for one in found)
    assert all(one.prefix.endswith(one.text) for one in found)


def test_a_translation_can_begin_with_each() -> None:
    translator = translator_of("bpe")
    for one in translator.next_words(LINE, "", most=3):
        (translation,) = translator.translate([LINE], prefix=one.prefix)
        assert translation.text.startswith(one.prefix)


def test_what_cannot_be_asked() -> None:
    translator = translator_of("bpe")
    assert translator.next_words("  ") == []
    for most in (0, 17):
        with pytest.raises(ConfigError, match=f"{most} next words"):
            translator.next_words(LINE, most=most)
    with pytest.raises(ConfigError, match="one target language"):
        translator.next_words(LINE, to="fr")
    with pytest.raises(DataError, match="cannot spell"):
        translator_of("words").next_words(LINE, "Krokodil ")


class Words:
    """A tokenizer of 40 words."""

    pad_id, start_id, end_id, unk_id = 0, 1, 2, 3

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(f"w{token:02}" for token in ids)

    def target_spans(self, ids: Sequence[int]) -> list[tuple[int, int]]:
        return [(4 * place, 4 * place + 3) for place in range(len(ids))]


def likeliest(
    model: History, rules: tuple[Rule, ...] = (), *, most: int = 8, **how: Any
) -> list[tuple[str, float]]:
    request = Request(source=[5, 6], how=Beam(**how), max_tokens=20, rules=rules)
    words = next_words(cast(Any, Words()), PyTorchEngine(cast(Any, model)), request, "", most=most)
    return [(one.text, pytest.approx(one.probability)) for one in words]


def first_logp(model: History) -> torch.Tensor:
    state = model.start(model.encode(torch.tensor([[5, 6, 2]]), torch.tensor([3])), 1)
    return model.step(torch.tensor([1]), state)[0][0].log_softmax(-1)


@pytest.mark.parametrize("seed", range(8))
def test_a_word_after_which_a_translation_never_ends_is_found(seed: int) -> None:
    model = History(vocab=40, seed=seed)
    model.logits_PV[:, 2] *= (
        10  # so the end is among the best tokens of some places, and never follows others
    )
    logp_V = first_logp(model)
    order = [token for token in logp_V.argsort(descending=True).tolist() if token > 2]

    expected = [(f"w{token:02}", math.exp(logp_V[token])) for token in order[:8]]
    assert likeliest(model) == expected


def test_banned_tokens_are_no_next_words() -> None:
    model = History(vocab=40)
    best = int(likeliest(model)[0][0][1:])

    assert f"w{best:02}" not in [text for text, _ in likeliest(model, banned=(best,), most=16)]


def test_a_placeholder_may_come_later() -> None:
    """And only once."""
    model = History(vocab=40)
    free = likeliest(model)
    placeholder = int(free[3][0][1:])

    assert likeliest(model, (Once((placeholder,)),)) == free
    begun = likeliest(model, (Once((placeholder,)), Prefix((placeholder,))), most=16)
    assert f"w{placeholder:02}" not in [text for text, _ in begun]
