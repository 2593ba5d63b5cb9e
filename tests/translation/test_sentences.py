"""Lines of several sentences, and what in them is not language."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.translation.letters import LINES

from dragoman.base.errors import ConfigError
from dragoman.text.blank import INVISIBLE
from dragoman.text.checks.faults import Fault
from dragoman.translation.memory.store import TranslationMemory
from dragoman.translation.protected import Sentence, Sentences, Translated
from dragoman.translation.search.options import Sample
from dragoman.translation.translator import Translator


@pytest.fixture(scope="module")
def saved() -> Translator:
    return Translator.load(Path(__file__).parents[1] / "saved/0.2/transformer")


def test_a_line_is_split_and_stays_a_line(translator: Translator) -> None:
    lines = ["abc. hgf! cab? b", "abc hgf", " j. abc ", "b; a. ", "abc.\nhgf", "", "a" * 700]
    found = translator.translate(lines)

    assert [one.source for one in found] == lines
    for line, one in zip(lines[:1], found, strict=False):
        parts = [translator.translate(part, split=False).text for part in ("abc.", "hgf!", "cab?", "b")]
        assert one.text == " ".join(parts)
        assert one.text != translator.translate(line, split=False).text
    assert found[1] == translator.translate(lines[1], split=False)
    assert translator(lines[0]) == found[0].text
    assert list(translator.stream(iter(lines), window=1)) == found


def test_a_line_of_one_sentence_is_not_changed(saved: Translator) -> None:
    for options in ({}, {"n_best": 2}, {"alignment": True}, {"sample": Sample(n_best=2)}):
        asked: Any = options
        assert saved.translate(LINES, **asked) == saved.translate(LINES, split=False, **asked)


def test_alternatives_of_a_line_are_those_of_its_sentences(translator: Translator) -> None:
    line, parts = "abc. hgf", ["abc.", "hgf"]
    found = translator.translate(line, n_best=3)
    own = translator.translate(parts, n_best=3, split=False)
    for number, one in enumerate(found.alternatives):
        assert one.text == " ".join(part.alternatives[number].text for part in own)
    assert len(found.alternatives) == 2


def test_an_alignment_of_a_line_is_that_of_its_sentences(saved: Translator) -> None:
    line = "  The dog. Two old cats"
    found = saved.translate(line, alignment=True)
    first, second = saved.translate(["The dog.", "Two old cats"], alignment=True, split=False)
    assert found.alignment
    assert first.alignment
    assert second.alignment
    one, other = first.alignment, second.alignment
    source = [line[a:b] for a, b in found.alignment.source]
    assert source == [
        text[a:b] for text, of in (("The dog.", one), ("Two old cats", other)) for a, b in of.source
    ]
    target = [found.text[a:b] for a, b in found.alignment.target]
    assert target == [of.target_text[a:b] for of in (one, other) for a, b in of.target]
    moved = [(s + len(one.source), t + len(one.target)) for s, t in other.links]
    assert found.alignment.links == (*one.links, *moved)


@pytest.mark.parametrize("line", ["The dog.\u2028Two old cats", "\u200b", " \u2028 \u200b\u2028\u200b"])
def test_an_alignment_has_the_text_of_its_translation(saved: Translator, line: str) -> None:
    found = saved.translate(line, alignment=True)
    assert found.alignment
    assert (found.alignment.source_text, found.alignment.target_text) == (line, found.text)


def test_with_attention_a_line_is_whole(saved: Translator) -> None:
    found = saved.translate("The dog. The cat", attention="1")
    assert found == saved.translate("The dog. The cat", attention="1", split=False)


@pytest.mark.parametrize(
    "line",
    [
        *("%s", "%(name)s", "{0}", "a@b.example", "https://b.example/a?b=1", "www.b.example", "12:30"),
        *("$1,234.50", "+1 (800) 555-0199", "2024-12-24", "https://a.example. https://b.example", "..."),
        *("\u200b", "\u200e\u00ad", "\ufeff", "\u3164", "\u2800"),
    ],
)
def test_what_is_not_language_stays_as_it_is(saved: Translator, line: str) -> None:
    for options in ({}, {"n_best": 2}, {"risk": True}, {"alignment": True}):
        asked: Any = options
        found = saved.translate(line, **asked)
        assert (found.text, found.truncated, found.lacking) == (line, False, False)
    assert saved(line) == line
    assert saved(f"{line}\nThe dog").startswith(f"{line}\n")


def test_placeholders_are_kept_once_each_and_split_no_sentence(translator: Translator) -> None:
    lines = [
        "abc %s hgf",
        "hgf https://a.example/b?c=d. abc",
        "abc. {x} hgf {y}. b",
        "abc hgf",
        "a@b.example abc",
    ]
    kept = [["%s"], ["https://a.example/b?c=d"], ["{x}", "{y}"], [], ["a@b.example"]]
    for window in (1, 2, 64):
        found = list(translator.stream(lines, window=window, n_best=2, risk=True))
        assert [one.source for one in found] == lines
        for one, names in zip(found, kept, strict=True):
            assert [one.text.count(name) for name in names] == [1] * len(names)
    assert found[3] == translator.translate(lines[3], split=False, n_best=2, risk=True)


@pytest.mark.parametrize(("way", "flag"), [("copied", "copied"), ("parts", "placeholder")])
def test_a_line_carries_the_doubts_of_its_sentences(
    saved: Translator, monkeypatch: pytest.MonkeyPatch, way: Any, flag: str
) -> None:
    def doubting(_: Sentences, asked: Sequence[Sentence]) -> list[Translated]:
        return [Translated(one.text, one.kept, (), way, ("it loops",)) for one in asked]

    monkeypatch.setattr(Sentences, "translate", doubting)
    for line in ("The dog %s sleeps.", "The cat. The dog %s sleeps."):
        found = saved.translate(line, risk=True)
        assert found.doubts == ("it loops",)
        assert found.risk
        assert Fault(flag, "it loops") in found.risk.flags  # type: ignore[arg-type]
        assert saved.translate(line).doubts == ("it loops",)
    assert saved.translate("The cat. The dog sleeps.").doubts == ()


@pytest.mark.parametrize(
    ("line", "target", "taken"),
    [
        ("abc {0}", "cab", False),
        ("abc", "cab {0}", False),
        ("abc {0}", "cab {1}", False),
        ("abc {0}", "{0} cab", True),
        ("abc", "cab", True),
        ("abc. hgf {0}", "cab", False),
        ("abc. hgf", "cab", True),
    ],
)
def test_a_memory_changes_no_placeholders(
    translator: Translator, tmp_path: Path, line: str, target: str, taken: bool
) -> None:
    with TranslationMemory.create(tmp_path / "a.tm", source_language="en", target_language="de") as memory:
        memory.add(line, target)
        own = translator.using(memory=memory)
        assert (own.translate(line).text == target) is taken
        assert own.translate(line).text.count("{") == line.count("{")
        assert own.translate(line, split=False).text == target


def test_a_translation_that_does_not_begin_with_the_prefix_changes_nothing(
    translator: Translator, tmp_path: Path
) -> None:
    with TranslationMemory.create(tmp_path / "a.tm", source_language="en", target_language="de") as memory:
        memory.add("abc. hgf", "cab")
        own = translator.using(memory=memory)
        assert own.translate("abc. hgf", prefix="ca").text == "cab"
        assert (
            own.translate("abc. hgf", prefix="jj").text == translator.translate("abc. hgf", prefix="jj").text
        )


def test_plain_lines_go_to_the_model_as_they_are(saved: Translator) -> None:
    for line in ("The dog %s sleeps. The cat", "a@b.example", "12"):
        assert saved.translate(line, split=False, minimum_length=2).tokens


def test_a_prefix_begins_the_first_sentence_alone(translator: Translator) -> None:
    found = translator.translate("abc. hgf", prefix="jj")
    assert found.text.startswith("jj")
    assert found.text.endswith(f" {translator.translate('hgf').text}")


def test_with_a_prefix_only_the_first_sentence_is_not_protected(translator: Translator) -> None:
    found = translator.translate("abc. hgf {0}. 12:30", prefix="jj")
    first = translator.translate("abc.", prefix="jj", split=False).text
    assert found.text == f"{first} {translator.translate('hgf {0}. 12:30').text}"
    assert "{0}" in found.text
    for line in ("abc {0}.", "{0}", "12:30"):
        plain = translator.translate(line, prefix="jj", split=False).text
        assert translator.translate(line, prefix="jj").text == plain


@pytest.mark.parametrize("line", [*INVISIBLE[:1], "\u200b\u200b", "\t\u00ad "])
def test_an_invisible_line_costs_no_model(translator: Translator, line: str) -> None:
    assert translator.translate(line, split=False).token_logp == ()


def test_an_error_of_an_option_comes_at_once(translator: Translator) -> None:
    with pytest.raises(ConfigError, match="n_best"):
        translator.stream(["abc. b"], n_best=0)
