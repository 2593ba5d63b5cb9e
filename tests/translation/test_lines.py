"""Lines and their prefixes, as the public methods take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest
from tests.translation.bundles import PAIRS, bundle_of, several_bundle
from tests.translation.letters import BLANK, LINES, translator_of
from tests.translation.search.reference import History

from dragoman import Translator
from dragoman.base.errors import ConfigError, DataError
from dragoman.translation.lines import Directions, by_parts


def test_a_string_is_not_taken_for_a_list_of_lines(translator: Translator) -> None:
    with pytest.raises(TypeError, match="list of lines"):
        translator.stream("abc")
    with pytest.raises(ConfigError, match="window = 2.5"):
        translator.stream(LINES, window=cast(Any, 2.5))


def test_spaces_around_a_line_change_nothing() -> None:
    translator = Translator.of(bundle_of("bpe"))
    (plain,), (spaced,) = translator.translate(["The cat."]), translator.translate(["  The cat. \t"])

    assert (spaced.text, spaced.score) == (plain.text, plain.score)
    assert spaced.source == "  The cat. \t"


# Prefixes


def test_a_prefix_of_a_line_is_that_of_its_first_sentence(translator: Translator) -> None:
    (one,) = translator.translate(["abc. hgf"], prefix="h")
    first, second = translator.translate(["abc.", "hgf"], prefix=["h", ""])
    assert one.text == f"{first.text} {second.text}"


def test_equal_lines_with_other_prefixes_are_others(translator: Translator) -> None:
    found = translator.translate(["abc"] * 4, prefix=["a", "b", "a", ""])

    assert [one.text[:1] for one in found[:3]] == ["a", "b", "a"]
    assert found[0] == found[2]
    assert found[3] == translator.translate(["abc"])[0]


def test_prefixes_begin_the_text(translator: Translator) -> None:
    for one in translator.translate(LINES, prefix="dad"):
        assert one.text.startswith("dad") or not one.source.strip(" \u200b")
    prefixes = ["a", "b", "", "gg", "c", "", "d", "fff", "e"]
    for i, one in enumerate(translator.translate(LINES, prefix=prefixes, batch_tokens=50)):
        assert one.text.startswith("" if i in BLANK else prefixes[i])
    assert list(translator.stream(LINES, prefix=iter(prefixes), window=2)) == translator.translate(
        LINES, prefix=prefixes
    )
    assert translator.translate(LINES, prefix="") == translator.translate(LINES)


def test_prefixes_that_cannot_be_used_are_refused(translator: Translator) -> None:
    with pytest.raises(DataError, match="line 3 has no prefix"):
        translator.translate(["a", "b", "c"], prefix=["a", "b"])
    with pytest.raises(DataError, match="more prefixes than the 1"):
        translator.translate(["a"], prefix=["a", "b"])
    with pytest.raises(DataError, match="cannot spell") as caught:
        translator.translate(["a"], prefix="a?")
    assert caught.value.hint


@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters", "words"])
def test_a_prefix_begins_the_text_whatever_the_tokenizer(kind: str) -> None:
    translator = Translator.of(bundle_of(kind))
    for prefix in ("Die Katze", " Der Bäcker ", "Zwei"):
        for one in translator.translate([source for source, _ in PAIRS], prefix=prefix, n_best=3):
            for each in (one, *one.alternatives):
                assert each.text.startswith(prefix.strip())
    if kind == "words":
        with pytest.raises(DataError, match="cannot spell"):
            translator.translate(["The cat sleeps."], prefix="Hund")
    else:
        assert translator.translate(["The cat."], prefix="猫")[0].text.startswith("猫")


def test_lines_that_are_not_strings_are_refused(translator: Translator) -> None:
    for line in (None, 3):
        with pytest.raises(TypeError, match=f"line 2 is {line}, not a string"):
            translator.translate(cast(Any, ["abc", line, "b"]))


def test_a_prefix_with_a_banned_token_is_refused() -> None:
    """It would end in its middle."""
    translator = translator_of(History(vocab=14, seed=2, end=0.5), banned=(5,))
    assert translator.translate(["abc"], prefix="ac")[0].text.startswith("ac")
    with pytest.raises(DataError, match="this model cannot spell it"):
        translator.translate(["abc"], prefix="ab")


# ---- parts


def cut(item: str) -> tuple[list[str], Callable[[Sequence[str]], tuple[str, str]]]:
    return item.split(" "), lambda answers: (item, "+".join(answers))


def test_each_item_is_answered_whole_and_in_order() -> None:
    def answers(parts: Iterator[str | None]) -> Iterator[str]:
        return (part.upper() for part in parts if part is not None)

    found = by_parts(["a b", None, "c", "d e f"], cut, answers)
    assert list(found) == [("a b", "A+B"), ("c", "C"), ("d e f", "D+E+F")]


def test_an_item_is_answered_before_the_next_is_read() -> None:
    read: list[str] = []

    def items() -> Iterator[str]:
        for item in ("a b", "c d"):
            read.append(item)
            yield item

    found = by_parts(items(), cut, lambda parts: (str(part) for part in parts))
    assert next(found) == ("a b", "a+b")
    assert read == ["a b"]


def test_a_pause_reaches_the_answers() -> None:
    seen: list[str | None] = []

    def answers(parts: Iterator[str | None]) -> Iterator[str]:
        for part in parts:
            seen.append(part)
            if part is not None:
                yield part

    list(by_parts(["a b", None, "c"], cut, answers))
    assert seen == ["a", "b", None, "c"]


def test_the_pairs_that_a_model_offers() -> None:
    both = ("mul", "mul")
    tokenizer = several_bundle(languages=("deu_Latn", "eng_Latn", "fra_Latn")).tokenizer
    every = Directions(tokenizer, both)
    assert every.offered == [(("de", "en", "fr"), ("de", "en", "fr"))]
    assert every.tags["fr"] == "fra_Latn"
    star = Directions(tokenizer, both, tuple((f"{a}_Latn", f"{b}_Latn") for a, b in STAR))
    assert star.offered == [(("de", "fr"), ("en",)), (("en",), ("de", "fr"))]
    one = Directions(bundle_of("bpe").tokenizer, ("eng", "deu"))
    assert (one.offered, one.tags) == ([(("en",), ("de",))], {"en": "eng", "de": "deu"})
    opus = Directions(several_bundle(source_mark=False).tokenizer, ("es", "mul"))
    assert opus.offered == [(("es",), ("de", "en", "fr"))]
    into = Directions(tokenizer, ("mul", "eng"), (("deu_Latn", "eng_Latn"), ("fra_Latn", "eng_Latn")))
    assert into.offered == [(("de", "fr"), ("en",))]


STAR = [("deu", "eng"), ("eng", "deu"), ("eng", "fra"), ("fra", "eng")]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("mark", ["source", "target"])
def test_a_mark_in_a_text_does_not_change_a_language_that_is_given(kind: str, mark: str) -> None:
    tokenizer = several_bundle(kind, target_mark=mark).tokenizer
    directions = Directions(tokenizer, ("mul", "mul"), tuple((a[:2], b[:2]) for a, b in STAR))
    line = ">>fr<< >>de<< The cat sleeps."
    given, free = (directions.addressed(line, "en", to) for to in ("de", None))
    marks = {tokenizer.encode_source([f">>{one}<< a"])[0][0]: one for one in ("de", "en", "fr")}
    found = [[marks[token] for token in tokenizer.encode_source([one.text])[0] if token in marks]
             for one in (given, free)]  # fmt: skip
    assert found == [["en", "de"] if mark == "source" else ["en"], ["en", "fr", "de"]]
    assert tokenizer.decode(tokenizer.encode_source([given.text])[0]).endswith(line)
    assert directions.addressed(">> The cat.", "en", "de").text.endswith("<< >> The cat.")


def test_several_languages_are_no_language() -> None:
    directions = Directions(several_bundle().tokenizer, ("mul", "mul"))
    for source, to in (("mul", "de"), ("en", "mul")):
        with pytest.raises(ConfigError, match="'mul': this model does not translate"):
            directions.chosen(source, to)
