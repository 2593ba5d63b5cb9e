"""Hard terms stand where the words stood that translate their source words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import pytest

from dragoman import Translator
from dragoman.text.guidance import SourcePhrase
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.search.alignment import Aligning
from dragoman.translation.search.engine import Hypothesis, Request
from dragoman.translation.search.options import AttentionOf
from dragoman.translation.search.requests import phrases_of, prefix_of
from dragoman.translation.terms.placing import Placer, _Spot, _Word
from dragoman.translation.terms.terms import Term, TermList

DICTIONARY = {
    "The": "Der", "the": "den", "a": "einen", "dog": "Hund", "bird": "Vogel", "sees": "sieht", "me": "mich",
    "old": "alten", "garden": "Garten", "and": "und", ".": ".", "?": "?", "I": "Ich", "see": "sehe",
    "Dog": "Hund", "in": "in",
}  # fmt: skip
OTHERS = "Piepmatz Hündchen Park grüner Hündchens Das das"
TERMS = [
    Term("bird", ("Piepmatz",)),
    Term("dog", ("Hündchen", "Wauwau")),
    Term("old garden", ("grüner Park",)),
]


class WordForWord:
    """Translates with a dictionary. It attends to the word that it translates, if it `attends`.

    A word is likely if the source has what it translates. Other words are less likely.
    """

    def __init__(self, tokenizer: Tokenizer, *, attends: bool, dropped: str = "") -> None:
        self.tokenizer, self.attends, self.dropped = tokenizer, attends, dropped
        self.asked: list[Request] = []

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int, lookahead: int
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        for number, request in enumerate(requests):
            self.asked.append(request)
            yield number, [self._answer(request)]

    def _answer(self, request: Request) -> Hypothesis:
        words = [piece.strip("▁") for piece in self.tokenizer.source_pieces(request.source)]
        likely = [DICTIONARY[word] for word in words if word != self.dropped]
        usual = self.tokenizer.encode_target([" ".join(likely)])[0]
        tokens, rule = [*prefix_of(request.rules)], phrases_of(request.rules)
        if rule is not None:
            form = rule.phrases[0][0]
            assert rule.within is not None
            tokens += [*usual[len(tokens) : rule.within - len(form)], *form]
        tokens += usual[len(tokens) : request.max_tokens]
        logp = [-0.1 if token in usual else -4.0 for token in tokens] + [-0.1]
        rows: list[tuple[float, ...]] = []
        for token in tokens if request.attention is not None else ():
            word = self.tokenizer.decode([token]).strip()
            row = [float(DICTIONARY[one] == word) for one in words]
            rows.append((*[0.9 * x / (sum(row) or 1) for x in row], 0.1))
        if rows:
            rows.append((*[0.0] * len(words), 1.0))
        return Hypothesis(tuple(tokens), sum(logp) / len(logp), sum(logp), tuple(logp), False, tuple(rows))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    config = TokenizerConfig(kind="words", vocab_size=60, shared=False)
    text = " ".join(DICTIONARY), " ".join([*DICTIONARY.values(), OTHERS, "Wauwau"])
    return Tokenizer.train([text] * 2, config)


def translator_of(tokenizer: Tokenizer, *, attends: bool = True, dropped: str = "") -> Translator:
    engine = WordForWord(tokenizer, attends=attends, dropped=dropped)
    translator = Translator(
        tokenizer,
        cast(Any, engine),
        source_language="en",
        target_language="de",
        aligning=Aligning(AttentionOf(1)) if attends else None,
    )
    return translator.using(terms=TermList(TERMS, "en", "de"))


@pytest.mark.parametrize("attends", [True, False])
@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("The bird sees me .", "Der Piepmatz sieht mich ."),
        ("I see a bird ?", "Ich sehe einen Piepmatz ?"),
        ("The dog sees the bird and the dog .", "Der Hündchen sieht den Piepmatz und den Hündchen ."),
        ("I see the old garden .", "Ich sehe den grüner Park ."),
        ("The dog in the old garden sees me .", "Der Hündchen in den grüner Park sieht mich ."),
        ("I see me .", "Ich sehe mich ."),
    ],
)
def test_a_term_takes_the_place_of_its_word(
    tokenizer: Tokenizer, attends: bool, line: str, text: str
) -> None:
    if not attends and line.count("dog") > 1:
        pytest.skip("which of two equal words translates which is then unknown")
    (found,) = translator_of(tokenizer, attends=attends).translate([line])
    assert found.text == text
    assert found.unused_terms == ()
    assert not found.truncated


def test_a_term_that_is_there_changes_nothing(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inflected forms count."""
    monkeypatch.setitem(DICTIONARY, "dog", "Hündchens")
    using = translator_of(tokenizer)
    (found,) = using.translate(["The dog sees me ."])
    assert (found.text, found.unused_terms) == ("Der Hündchens sieht mich .", ())
    assert len(cast(Any, using.engine).asked) == 1


@pytest.mark.parametrize("attends", [True, False])
def test_a_term_without_a_place_is_left_out(tokenizer: Tokenizer, attends: bool) -> None:
    (found,) = translator_of(tokenizer, attends=attends, dropped="bird").translate(["I see me . bird"])
    assert (found.text, found.unused_terms) == ("Ich sehe mich .", ("Piepmatz",))


def test_a_prefix_is_never_changed(tokenizer: Tokenizer) -> None:
    using = translator_of(tokenizer)
    (found,) = using.translate(["The bird sees the dog ."], prefix="Der Vogel")
    assert (found.text, found.unused_terms) == ("Der Vogel sieht den Hündchen .", ("Piepmatz",))


def test_many_lines_are_answered_in_order(tokenizer: Tokenizer) -> None:
    using = translator_of(tokenizer)
    lines = ["The bird sees me .", "I see me .", "The dog sees a bird .", "I see a dog ."] * 3
    wanted = ["Der Piepmatz sieht mich .", "Ich sehe mich .", "Der Hündchen sieht einen Piepmatz ."]
    wanted = [*wanted, "Ich sehe einen Hündchen ."] * 3
    for window in (1, 2, 50):
        assert [one.text for one in using.stream(lines, window=window)] == wanted
        waiting = [None, *(one for line in lines for one in (line, None))]
        assert [one.text for one in using.stream(waiting, window=window)] == wanted


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("Der Vogel sieht den Piepmatz .", False),  # elsewhere
        ("Ich Piepmatz sieht mich .", False),  # the words before have changed
        ("Der Piepmatz . Ich sehe", False),  # a sentence more
        ("Der Piepmatz sieht mich .", True),
    ],
)
def test_a_term_neither_changes_the_words_before_nor_adds_a_sentence(
    tokenizer: Tokenizer, text: str, stands: bool
) -> None:
    def found(line: str) -> Hypothesis:
        tokens = tuple(tokenizer.encode_target([line])[0])
        return Hypothesis(tokens, 0.0, 0.0, (0.0,) * len(tokens), False)

    phrase = SourcePhrase(4, 8, ("Piepmatz",))
    spot = _Spot(phrase, [_Word(4, 9, 1, 2)], 1)
    placer = Placer(tokenizer, cast(Any, None), "de")
    assert placer._stands(found(text), found("Der Vogel sieht mich ."), spot, [phrase]) is stands


def test_equal_translations_are_given_once(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    one = WordForWord._answer
    monkeypatch.setattr(
        WordForWord,
        "search",
        lambda self, requests, **_: ((n, [one(self, each)] * 2) for n, each in enumerate(requests)),
    )
    (found,) = translator_of(tokenizer).translate(["The bird sees me ."], n_best=2)
    assert [found.text, *(other.text for other in found.alternatives)] == ["Der Piepmatz sieht mich ."]
