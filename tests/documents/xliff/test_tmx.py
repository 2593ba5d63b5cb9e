from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Code, Content, Result, Status
from dragoman.documents.xliff.tmx import parse
from dragoman.documents.xml.inline import same_content
from tests.documents.xliff.xliff_files import encoded, read, words, written

EN_DE = Languages("en", "de")


def file(units: str, srclang: str = "en-US") -> bytes:
    return (
        '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
        f'<tmx version="1.4">\n <header srclang="{srclang}"/>\n <body>\n{units}\n </body>\n</tmx>\n'
    ).encode()


def variant(language: str, text: str, more: str = "", props: str = "") -> str:
    return f'   <tuv xml:lang="{language}"{more}>{props}\n    <seg>{text}</seg>\n   </tuv>\n'


def unit(*variants: str, more: str = "") -> str:
    return f"  <tu{more}>\n{''.join(variants)}  </tu>"


def translated(units: str, *results: Result | None) -> str:
    new = parse(file(units), EN_DE).render(list(results))
    read(new)
    return new.decode()


def kinds(content: Content) -> list[str | tuple[str, int]]:
    return [one if isinstance(one, str) else (one.kind, one.pair) for one in content]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A &amp; b", ["A & b"]),
        ('<bpt i="1">&lt;b></bpt>a<ept i="1">&lt;/b></ept>', [("open", 1), "a", ("close", 1)]),
        ('a<it pos="begin">[</it><it pos="end">]</it>', ["a", ("open", 0), ("close", 0)]),
        ('a<ph x="1">{0}</ph>', ["a", ("placeholder", 0)]),
        ('a<ph type="fmt">x</ph><ut>y</ut>', ["a", ("empty", 0), ("empty", 0)]),
        ("a<hi>b</hi>", ["a", ("open", 1), "b", ("close", 1)]),
        ("a<ph>x<sub>tip</sub></ph>", ["a", ("placeholder", 0)]),
    ],
)
def test_inline_elements_are_codes(text: str, expected: list[str | tuple[str, int]]) -> None:
    [found] = parse(file(unit(variant("en", text))), EN_DE).segments
    assert kinds(found.source) == expected


def test_breaks() -> None:
    [found] = parse(file(unit(variant("en", 'a<ph type="lb"/>b'))), EN_DE).segments
    assert [(one.shown, one.breaks) for one in found.source if isinstance(one, Code)] == [("\n", True)]


def test_languages_are_matched() -> None:
    units = unit(variant("EN-US", "colour"), variant("de-AT", "Farbe")) + unit(
        variant("fr", "rouge"), variant("en", "red")
    )
    segments = parse(file(units), EN_DE).segments
    assert [(one.source, one.target, one.state) for one in segments] == [
        (("colour",), ("Farbe",), Status.DONE),
        (("red",), None, Status.MISSING),
    ]
    assert [one.where for one in segments] == ["line 6", "line 13"]
    british = unit(variant("en-US", "color"), variant("en-GB", "colour"))
    [found] = parse(file(british, "*all*"), Languages("en-GB", "en-US")).segments
    assert (found.source, found.target) == (("colour",), ("color",))
    [found] = parse(file(unit(variant("en-GB", "colour"))), Languages("en-GB", "en-US")).segments
    assert found.target is None
    [found] = parse(file(british), Languages("en", "en-GB")).segments
    assert (found.source, found.target) == (("color",), ("colour",))
    [found] = parse(file(british, "de"), Languages("en-GB", "fr")).segments
    assert found.source == ("colour",)


def test_a_memory_without_the_source_language_is_refused() -> None:
    with pytest.raises(DataError, match="line 6: no text in 'en', but in de, fr"):
        parse(file(unit(variant("fr", "rouge"), variant("de", "rot"))), EN_DE)
    assert parse(file(""), EN_DE).segments == []
    with pytest.raises(DataError, match="line 2: <xliff> is not <tmx>"):
        parse(b"\n<xliff/>", EN_DE)


def test_a_new_variant_comes_last() -> None:
    old = unit(variant("en", "One"), variant("fr", "Un"), more=' creationdate="20200101T000000Z"')
    new = old.replace("  </tu>", variant("de", "Eins &amp; &lt;zwei&gt;") + "  </tu>")
    assert translated(old, Result(("Eins & <zwei>",))) == file(new).decode()


def test_an_old_variant_is_replaced_and_its_dates_stay() -> None:
    more = ' changedate="20200101T000000Z"'
    old, new = (unit(variant("de-DE", text, more), variant("en", "One")) for text in ("Ein", "Eins"))
    assert translated(old, Result(("Eins",))) == file(new).decode()
    assert translated(old, Result(("Ein",))) == file(old).decode()
    empty = unit(variant("en", "One"), '<tuv xml:lang="de"><seg/></tuv>')
    assert '<tuv xml:lang="de"><seg>Eins</seg></tuv>' in translated(empty, Result(("Eins",)))


def test_doubts_are_a_prop() -> None:
    old = unit(variant("en", "One"))
    once = translated(old, Result(("Eins",), ("number <differs>", "too long")))
    prop = '\n    <prop type="dragoman">number &lt;differs&gt;; too long</prop>'
    assert once == file(unit(variant("en", "One"), variant("de", "Eins", props=prop))).decode()
    document = parse(once.encode(), EN_DE)
    assert document.render([Result(("Eins",))]).decode() == once
    last = document.render([Result(("Zwei",))])
    added = parse(last, EN_DE).render([Result(("Zwei",), ("why",))])
    assert [one.tag for one in read(added).findall(".//tuv")[1]] == ["prop", "seg"]


def test_notes() -> None:
    units = unit("<note>Be brief</note>", '<tuv xml:lang="en"><note>A &lt; B</note><seg>One</seg></tuv>')
    [found] = parse(file(units), EN_DE).segments
    assert found.note == "Be brief\nA < B"


def test_properties_say_where_a_unit_stands() -> None:
    props = '<prop type="x-document">a.po</prop><prop type="x-context">menu of files</prop>'
    [found] = parse(file(unit(props + variant("en", "Open"))), EN_DE).segments
    assert (found.context, found.place) == ("menu of files", "a.po")


def test_version_11_has_lang_without_a_prefix() -> None:
    old = unit(variant("en", "One")).replace("xml:lang", "lang")
    assert '<tuv lang="de">' in translated(old, Result(("Eins",)))


def test_forbidden_characters_are_refused() -> None:
    with pytest.raises(DataError, match=r"line 6: XML cannot hold the character U\+0000"):
        translated(unit(variant("en", "One")), Result(("\0",)))


@st.composite
def files(draw: Callable[..., Any]) -> bytes:
    """Each German variant equals the English one."""
    units = []
    for _ in range(draw(st.integers(1, 4))):
        parts = []
        for number in range(draw(st.integers(1, 3))):
            text = draw(written(draw(words)))
            how = draw(
                st.sampled_from(["{}", "<hi>{}</hi>", "<bpt i='#'/>{}<ept i='#'/>", "{}<ph x='#'>[</ph>"])
            )
            parts.append(how.replace("#", str(number)).replace("{}", text))
        text = "".join(parts)
        languages = draw(
            st.permutations(draw(st.sampled_from([["en"], ["en-GB", "de"], ["fr", "en", "de-DE"]])))
        )
        units.append(unit(*(variant(one, text) for one in languages)))
    end = draw(st.sampled_from(["\n", "\r\n", ""]))
    text = f'<tmx version="1.4"><header srclang="en"/><body>{end}{end.join(units)}</body></tmx>{end}'
    return draw(encoded(text))


@given(files())
def test_generated_memories(data: bytes) -> None:
    document = parse(data, EN_DE)
    news: list[Content] = [
        tuple(one[::-1] + "<&" if isinstance(one, str) else one for one in segment.source)
        for segment in document.segments
    ]
    new = document.render([Result(content) for content in news])
    for segment, content in zip(parse(new, EN_DE).segments, news, strict=True):
        assert segment.target is not None
        assert same_content(segment.target, content)
    before, after = read(data), read(new)
    for tree in (before, after):
        for one in tree.findall(".//tuv"):
            if one.get("{http://www.w3.org/XML/1998/namespace}lang").startswith("de"):
                one.getparent().remove(one)
    assert [(one.tag, one.attrib, one.text) for one in before.iter("tuv", "seg", "hi", "ph")] == [
        (one.tag, one.attrib, one.text) for one in after.iter("tuv", "seg", "hi", "ph")
    ]
