from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any, cast

import pytest
from tests.documents.pretend import Pretend, Reading, remembering
from tests.serving.engines import Shift, ask, served
from tests.serving.service.test_service import run

from dragoman.base.errors import ConfigError
from dragoman.serving.service import routing
from dragoman.serving.service.ask import Ask
from dragoman.serving.service.limits import Limits
from dragoman.serving.service.routing import translate_markup
from dragoman.serving.service.service import Service, check_ask
from dragoman.text.guidance import CONTEXT_CHARACTERS
from dragoman.translation.memory.store import TranslationMemory
from dragoman.translation.search.options import Decoding

TAG = re.compile(r"<[^<>]*>")


def html(text: str, *, ignored: str = "", **options: Any) -> str:
    translator = cast(Any, Pretend(str.upper, **options))
    ((new, _),) = translate_markup(translator, [text], "html", frozenset(ignored.split()), Decoding())
    return new


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>A <b>red</b> dog.</p>\n\n<p>Two.</p>", "<p>A <b>RED</b> DOG.</p>\n\n<p>TWO.</p>"),
        ("a dog &amp; a cat", "A DOG & A CAT"),
        ('<a href="/x?y=1">see</a>', '<a href="/x?y=1">SEE</a>'),
        ("one<br>two", "ONE<br>TWO"),
        ("<p>one <code>ls -l</code> two", "<p>ONE <code>ls -l</code> TWO"),
        ('<p translate="no">one</p><p>two</p>', '<p translate="no">one</p><p>TWO</p>'),
        (
            "<meta charset=iso-8859-1><p>caf\u00e9 \u2603</p>",
            "<meta charset=iso-8859-1><p>CAF\u00c9 \u2603</p>",
        ),
        ("<b>one <i>two", "<b>ONE <i>TWO"),
        ("one</p></div> two <b", "ONE</p></div> TWO <b"),
        ("2 < 3 dogs", "2 < 3 DOGS"),
    ],
)
def test_words_are_translated_and_tags_stay(text: str, expected: str) -> None:
    assert html(text) == expected


def test_tags_follow_their_words() -> None:
    assert html("<p>a <b>red</b> dog</p>", backwards=True) == "<p>dog <b>red</b> a</p>".upper().replace(
        "P>", "p>"
    ).replace("B>", "b>")


def test_ignored_elements_stay() -> None:
    text = '<p>one <x id="1">two <b>three</b></x> four</p><div class="a">five</div>'

    assert html(text, ignored="X div") == text.replace("one", "ONE").replace("four", "FOUR")


def test_texts_are_translated_together_and_do_not_mix() -> None:
    texts = ["<p>one</p><p>two</p>", "", "three", "<i>"]
    found = translate_markup(cast(Any, Pretend(str.upper)), texts, "html", frozenset(), Decoding())

    assert [text for text, _ in found] == ["<p>ONE</p><p>TWO</p>", "", "THREE", "<i>"]


def test_the_memory_is_asked_for_segments(tmp_path: Path) -> None:
    with TranslationMemory.create(tmp_path / "tm", source_language="en", target_language="de") as memory:
        memory.add("a dog", "ein Hund")
        translator = cast(Any, remembering(memory))
        texts = ["<p>a dog</p>", "<p>a dog</p><p>two</p>"]
        found = translate_markup(translator, texts, "html", frozenset(), Decoding())

    assert [text for text, _ in found] == ["<p>ein Hund</p>", "<p>ein Hund</p><p>TWO</p>"]
    assert [match and match.target for _, match in found] == ["ein Hund", None]


@pytest.mark.parametrize("markup", ["html", "xml"])
def test_many_texts_with_tags_through_the_service(markup: Any) -> None:
    service = Service([served("m", Shift())])
    texts = [f"<p>abc <b>{'def'[: n % 4]}</b> hij <i>cab" for n in range(6)]

    async def story() -> None:
        together = await asyncio.gather(*(ask(service, text, markup=markup) for text in texts))
        at_once = await ask(service, *texts, markup=markup)
        assert [one.text for (one,) in together] == [one.text for one in at_once]
        for text, one in zip(texts, at_once, strict=True):
            assert sorted(TAG.findall(one.text)) == sorted(TAG.findall(text))
        assert all(one.cached for one in at_once)
        plain = (await ask(service, texts[0]))[0]
        assert not plain.cached  # the same text without markup is another one

    run(service, story())


@pytest.mark.parametrize("markup", ["html", "xml"])
def test_the_language_is_that_of_the_words(markup: Any) -> None:
    pytest.importorskip("py3langid")
    service = Service([served("m", Shift(), "en", "fr"), served("n", Shift(), "de", "fr")])
    english = "where-you-can-find-all-the-news-of-the-world"
    texts = [
        f'<a href="https://www.example.com/{english}" class="the button">Ein Hund läuft im Schnee.</a>',
        f"Ein Hund <x>{english.replace('-', ' ')}</x> läuft im Schnee.",
        f'<br class="{english}"/>',
    ]

    async def story() -> None:
        options: Any = {"markup": markup, "ignored_tags": frozenset(["x"])}
        answers = await ask(service, *texts, source=None, target="fr", **options)
        assert [(one.source, bool(one.confidence)) for one in answers] == [
            ("de", True),
            ("de", True),
            ("en", False),
        ]

    run(service, story())


def test_the_start_of_markup_says_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server answers no other request while it is read."""
    lengths, read = list[int](), routing._document

    def seen(text: str, *options: Any) -> Any:
        lengths.append(len(text))
        return read(text, *options)

    monkeypatch.setattr(routing, "_document", seen)
    service = Service([served("m", Shift(), "en", "fr"), served("n", Shift(), "de", "fr")])
    ask = Ask(source=None, target="fr", markup="html")
    assert service._router.detect("<p>Ein Hund läuft im Schnee.</p>" * 1000, ask).language == "de"
    assert lengths == [10_000]


def test_placeholders_say_no_language() -> None:
    pytest.importorskip("py3langid")
    service = Service([served("m", Shift(), "en", "fr"), served("n", Shift(), "es", "fr")])
    text = "%(nombre_de_usuario)s %(archivo_de_configuracion)s Open the door."
    assert service._router.detect(text, Ask(source=None, target="fr")).language == "en"


def test_sentences_of_markup_cannot_be_asked_for() -> None:
    with pytest.raises(ConfigError, match="sentences = one for markup"):
        check_ask(Ask(source="en", target="de", markup="xml", sentences="one"), ["a"], Limits())


def test_markup_is_a_matter_of_its_options() -> None:
    service = Service([served("m", Shift())])
    text = "abc <x>def</x>"

    async def story() -> None:
        ignoring = frozenset(["x"])
        (one,) = await ask(service, text, markup="xml")
        (other,) = await ask(service, text, markup="xml", ignored_tags=ignoring)
        assert "<x>def</x>" not in one.text
        assert "<x>def</x>" in other.text

    run(service, story())


def test_each_text_is_read_in_its_own_context() -> None:
    translator = Reading()
    texts = ["<p>Cats are small.</p>", "<p>They sleep.</p><p>They eat.</p>"]
    translate_markup(cast(Any, translator), texts, "html", frozenset(), Decoding(), ["", "I like cats."])
    assert sorted(translator.read) == [
        ("Cats are small.", ""),
        ("They eat.", "I like cats. They sleep."),
        ("They sleep.", "I like cats."),
    ]


def test_a_given_context_is_read_with_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[list[str]] = []

    def translate(*args: Any) -> list[routing.Marked]:
        given.append(args[5])
        return [routing.Marked(text, None) for text in args[1]]

    monkeypatch.setattr(routing, "translate_markup", translate)
    service = Service([served("m", Shift(), reads=("context",))])

    async def story() -> None:
        for context in ("abc", "abd", "abd", "x" * 1_000_000 + "abe"):
            await ask(service, "<b>a</b>", markup="html", contexts=(context,))

    run(service, story())
    assert given[:2] == [["abc"], ["abd"]]
    ((last,),) = given[2:]
    assert (last[-4:], len(last)) == ("xabe", CONTEXT_CHARACTERS)
