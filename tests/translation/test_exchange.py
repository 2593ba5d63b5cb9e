"""Streams of lines, and what the engine is asked for each."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.translation.letters import BLANK, LETTERS, LINES, AtOnce, Echo, Letters, Reserving, translator_of
from tests.translation.search.reference import History

from dragoman import Translation, Translator
from dragoman.base.errors import DataError
from dragoman.models.search.engine import PyTorchEngine
from dragoman.translation.folder.shortlist import Shortlist
from dragoman.translation.memory.store import TranslationMemory
from dragoman.translation.search.engine import Engine, Hypothesis, Request
from dragoman.translation.search.options import Beam, Sample

# Streams


def test_a_stream_is_lazy_and_the_same(translator: Translator) -> None:
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for line in LINES:
            taken += 1
            yield line

    stream = translator.stream(lines(), window=2)
    first = next(stream)
    assert taken == 2
    assert [first, *stream] == translator.translate(LINES)


def test_equal_lines_are_translated_once(translator: Translator, model: History) -> None:
    """Also where the draw is random: it is a function of the sentence."""
    for options in ({}, {"n_best": 2}, {"sample": Sample(seed=3)}):
        apart = [translator.translate([line], **cast(Any, options))[0] for line in LINES]
        model.encoded.clear()

        assert list(translator.stream(LINES * 50, window=4, **cast(Any, options))) == apart * 50
        assert sum(sentences for sentences, _ in model.encoded) == len(LINES) - len(BLANK)


def test_equal_lines_that_are_asked_at_once_have_the_same_guidance(tmp_path: Path) -> None:
    """So many lines are between them that the stream has forgotten the first when it reads the last."""
    memory = TranslationMemory.create(tmp_path / "a.tm", source_language="en", target_language="de")
    memory.add("abc", "cab")
    plain = Translator(cast(Any, Letters()), Echo(), source_language="en", target_language="de")
    translator = plain.using(memory=memory, match_least=100)
    others = ["".join(LETTERS[int(digit)] for digit in str(number)) for number in range(1000, 1700)]
    lines = ["abc", *others, "abc"]
    assert [one.text for one in translator.translate(lines, quality="best")] == ["cab", *others, "cab"]
    memory.close()


def test_lines_before_none_are_translated_before_the_next_is_read(translator: Translator) -> None:
    seen: list[Translation] = []

    def lines() -> Iterator[str | None]:
        yield from ("abc", "j")
        yield None
        assert [one.source for one in seen] == ["abc", "j"]
        yield from ("cab", None, None, "b")

    for one in translator.stream(lines(), prefix=["", "a", "", "c"]):
        seen.append(one)

    assert seen == translator.translate(["abc", "j", "cab", "b"], prefix=["", "a", "", "c"])


def test_the_lines_before_an_error_are_translated(translator: Translator) -> None:
    def lines() -> Iterator[str]:
        yield from LINES
        raise DataError("line 10")

    seen: list[Translation] = []
    with pytest.raises(DataError, match="line 10"):
        for one in translator.stream(lines()):
            seen.append(one)
    assert seen == translator.translate(LINES)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_memory_does_not_grow_with_the_stream() -> None:
    """200,000 different lines take no more memory than the first 50,000."""
    translator = Translator(
        cast(Any, Letters()), cast(Engine, AtOnce()), source_language="en", target_language="en"
    )
    lines = (f"abc {number:x}" * 5 for number in range(200_000))
    pages = {}
    for number, _ in enumerate(translator.stream(lines), 1):
        if number % 50_000 == 0:
            pages[number] = int(Path("/proc/self/statm").read_text().split()[1])

    assert pages[200_000] <= 1.05 * pages[50_000]


# Requests


def test_length_and_repetition_are_ruled(translator: Translator) -> None:
    assert min(len(one.tokens) for one in translator.translate(["a", "bc"], minimum_length=9)) >= 9
    free = translator.translate(["abcde"], minimum_length=40)[0].text
    assert len(set(free)) < len(free)
    assert len(set(text := translator.translate(["abcde"], no_repeat_ngram=1)[0].text)) == len(text)
    with_prefix = translator.translate(["abcde"], no_repeat_ngram=1, prefix="aa")[0].text
    assert with_prefix.startswith("aa")
    assert len(set(with_prefix)) == len(with_prefix) - 1


def test_cuts_are_flagged(model: History) -> None:
    endless = translator_of(History(vocab=14, seed=2, end=-40.0))
    (one,) = endless.translate(["abc"], max_extra_tokens=4)
    assert len(one.tokens) == 7
    assert one.truncated

    whole, cut = translator_of(model).translate(["abcde", "abcdeffff"], max_source_tokens=5)
    assert (whole.text, whole.truncated) == (cut.text, False)
    assert cut.truncated
    assert cut.source == "abcdeffff"


def test_a_shortlist_limits_each_sentence(model: History) -> None:
    candidates = array("i", [-1] * 2 * 14)
    candidates[2 * (4 + LETTERS.index("a"))] = 4 + LETTERS.index("b")
    shortlist = Shortlist([4 + LETTERS.index("c")], memoryview(candidates), 2, target_vocab=14)
    translator = translator_of(model)
    translator.shortlist = shortlist
    free = translator.translate(LINES, split=False)
    limited = translator.translate(LINES, shortlist=True, split=False)

    for one in (one for number, one in enumerate(limited) if number not in BLANK):
        assert set(one.text) <= ({"b", "c"} if "a" in one.source else {"c"})
    assert [one.text for one in limited] != [one.text for one in free]
    assert any("b" in one.text for one in limited)


def test_the_stop_is_the_models_unless_chosen() -> None:
    class Recording(Echo):
        def __init__(self) -> None:
            self.asked: list[Beam | Sample] = []

        def search(
            self, requests: Iterable[Request], **options: int
        ) -> Iterator[tuple[int, list[Hypothesis]]]:
            requests = list(requests)
            self.asked += [request.how for request in requests]
            return super().search(requests)

    engine = Recording()
    generation = Beam(stop="patient")
    translator = Translator(
        cast(Any, Letters()), engine, source_language="en", target_language="de", generation=generation
    )
    translator.translate(["abc"])
    translator.translate(["abc"], stop="exact")
    assert engine.asked == [generation, Beam(stop="exact")]


@pytest.mark.parametrize(
    "options",
    [{"beam": 1}, {"beam": 4, "n_best": 4}, {"sample": Sample(), "n_best": 3}, {"no_repeat_ngram": 1}],
    ids=str,
)
def test_each_placeholder_of_the_source_appears_once(model: History, options: Any) -> None:
    translator = Translator(
        cast(Any, Reserving()), PyTorchEngine(model), source_language="en", target_language="de"
    )
    lines = ["abc", "b", "defg", "ccc dad", ""]
    expected = ["hij", "i", "", "hj", ""]
    found = translator.translate(lines, max_extra_tokens=0, **options)
    for translation, placeholders in zip(found, expected, strict=True):
        for one in (translation, *translation.alternatives):
            assert "".join(sorted(letter for letter in one.text if letter in "hij")) == placeholders
    cut = translator.translate(["dabc"], max_source_tokens=2, **options)[0]
    assert sorted(letter for letter in cut.text if letter in "hij") == ["h"]
