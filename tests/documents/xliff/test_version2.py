from __future__ import annotations

from typing import cast

import pytest

from dragoman.documents.formats import Languages
from dragoman.documents.segment import Code, Content, Result, Status, text_of
from dragoman.documents.translate import translate_document
from dragoman.documents.xliff.xliff import parse
from dragoman.translation.translator import Translator
from tests.documents.pretend import Pretend
from tests.documents.xliff.xliff_files import V20, texts

STYLE = "urn:oasis:names:tc:xliff:fs:2.0"
EN_DE = Languages("en", "de")


def file(units: str, head: str = ' trgLang="de"', more: str = "") -> bytes:
    return (
        f'<xliff xmlns="{V20}" version="2.1" srcLang="en"{head}>\n'
        f' <file id="f"{more}>\n{units}\n </file>\n</xliff>'
    ).encode()


def unit(source: str, target: str = "", segment: str = "", more: str = "") -> str:
    target = f"\n    <target>{target}</target>" if target else ""
    inside = f"   <segment{segment}>\n    <source>{source}</source>{target}\n   </segment>"
    return f'  <unit id="u"{more}>\n{inside}\n  </unit>'


def contents(units: str) -> list[Content]:
    return [one.source for one in parse(file(units), EN_DE).segments]


def kinds(content: Content) -> list[str | tuple[str, int]]:
    return [one if isinstance(one, str) else (one.kind, one.pair) for one in content]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("One &amp; <![CDATA[<two>]]>", ["One & <two>"]),
        ("a<!-- no -->b<?no?>c", ["abc"]),
        (
            '<pc id="1">a <pc id="2">b</pc></pc>',
            [("open", 2), "a ", ("open", 1), "b", ("close", 1), ("close", 2)],
        ),
        ('<sc id="1"/>a<ec startRef="1"/>', [("open", 1), "a", ("close", 1)]),
        ('a<sc id="1" isolated="yes"/>', ["a", ("open", 0)]),
        ('a<ec id="1" isolated="yes"/>', ["a", ("close", 0)]),
        ('a<ph id="1"/>', ["a", ("placeholder", 0)]),
        ('a<ph id="1" type="fmt"/>', ["a", ("empty", 0)]),
        ('a<pc id="1"/><cp hex="001B"/>', ["a", ("empty", 0), ("empty", 0)]),
        ('a<mrk id="1" type="term">b</mrk>', ["a", ("open", 1), "b", ("close", 1)]),
        ('a <mrk id="1" translate="no">b<ph id="2"/></mrk>', ["a ", ("placeholder", 0)]),
        (
            'a <sm id="1" translate="no"/>b <em startRef="1"/>c',
            ["a ", ("open", 1), ("placeholder", 0), ("close", 1), "c"],
        ),
        (
            'a<mrk id="1" translate="no">b<mrk id="2" translate="yes">c</mrk></mrk>',
            ["a", ("open", 2), ("placeholder", 0), ("open", 1), "c", ("close", 1), ("close", 2)],
        ),
        (
            '<sc id="1"/>a<sc id="2"/>b<ec startRef="1"/>c<ec startRef="2"/>',
            [("open", 1), "a", ("open", 2), "b", ("close", 1), "c", ("close", 2)],
        ),
    ],
)
def test_inline_elements_are_codes(source: str, expected: list[str | tuple[str, int]]) -> None:
    [content] = contents(unit(source))
    assert kinds(content) == expected


def test_codes_say_what_a_reader_sees() -> None:
    [content] = contents(
        unit('a<ph id="1" type="fmt" subType="xlf:lb"/>b <mrk id="2" translate="no">c &lt;</mrk>')
    )
    codes = [one for one in content if isinstance(one, Code)]
    assert [(one.shown, one.breaks) for one in codes] == [("\n", True), ("c <", False)]
    assert codes[1].text == '<mrk id="2" translate="no">c &lt;</mrk>'
    assert text_of(content) == "a\nb c <"


def test_translate_is_inherited_and_overridden() -> None:
    units = (
        unit("a", more=' translate="no"')
        + '<group id="g" translate="no">'
        + unit("b").replace('"u"', '"u2"')
        + unit("c").replace('"u"', '"u3" translate="yes"')
        + "</group>"
        + unit('d <mrk id="1" translate="yes">e</mrk>').replace('"u"', '"u4" translate="no"')
    )
    found = contents(units)
    assert [kinds(one) for one in found] == [["c"], [("placeholder", 0), ("open", 1), "e", ("close", 1)]]
    off = parse(file(units, more=' translate="no"'), EN_DE).segments
    assert [one.where for one in off] == [one.where for one in parse(file(units), EN_DE).segments]


def test_regions_that_are_not_translated_go_on_in_the_next_segment() -> None:
    units = (
        '<unit id="u"><segment><source>a <sm id="1" translate="no"/>b</source></segment>'
        "<segment><source>c</source></segment>"
        '<segment><source>d<em startRef="1"/>e</source></segment></unit>'
    )
    assert [kinds(one) for one in contents(units)] == [
        ["a ", ("open", 0), ("placeholder", 0)],
        [("placeholder", 0), ("close", 0), "e"],
    ]


def test_segments_without_words_are_left_out() -> None:
    assert contents(unit(" ") + unit('<ph id="1"/>').replace('"u"', '"v"')) == []


@pytest.mark.parametrize(
    ("segment", "target", "state"),
    [
        ("", "", Status.MISSING),
        (' state="final"', "", Status.MISSING),
        ("", "Eins", Status.DONE),
        (' state="initial"', "Eins", Status.DRAFT),
        (' state="initial" subState="a:b"', "Eins", Status.DRAFT),
        (' state="initial" subState="dragoman:check"', "Eins", Status.DOUBTFUL),
        (' state="translated"', "Eins", Status.DONE),
        (' state="reviewed"', "Eins", Status.DONE),
    ],
)
def test_states(segment: str, target: str, state: Status) -> None:
    [found] = parse(file(unit("One", target, segment)), EN_DE).segments
    assert found.state is state
    assert found.target == ((target,) if target else None)


def test_notes_names_and_lines() -> None:
    notes = '<notes><note>Be brief</note><note category="dragoman">x</note><note>A &lt; B</note></notes>'
    text = unit("One", more=' name="key"').replace("<segment>", f"{notes}\n<segment>")
    [found] = parse(file(text), EN_DE).segments
    assert (found.note, found.context, found.where) == ("Be brief\nA < B", "key", "line 5")


def translated(units: str, *results: Result | None, head: str = ' trgLang="de"') -> str:
    new = parse(file(units, head), EN_DE).render(list(results))
    assert parse(new, EN_DE).segments
    return new.decode()


def test_a_new_target_comes_after_its_source() -> None:
    new = translated(unit("One"), Result(("Eins & <zwei>",)), head="")
    assert new == file(unit("One", "Eins &amp; &lt;zwei&gt;", ' state="translated"')).decode()


def test_an_old_target_is_replaced_in_place() -> None:
    old, new = unit("One", "<!-- x -->Ein", ' state="final" subState="a:b"'), Result(("Eins",))
    assert translated(old, new) == file(unit("One", "Eins", ' state="translated"')).decode()
    empty = old.replace("<target><!-- x -->Ein</target>", "<target />")
    assert translated(empty, new) == translated(old, new)


def test_doubts_are_a_state_and_a_note() -> None:
    once = translated(unit("One"), Result(("Eins",), ("number differs", "too long")))
    assert '<segment state="initial" subState="dragoman:check">' in once
    assert texts(once.encode(), "note") == ["number differs; too long"]
    assert parse(once.encode(), EN_DE).render([Result(("Eins",))]).decode() == once


def test_a_draft_that_is_replaced_stays_as_a_note() -> None:
    draft = unit("One", "Ein &amp; b", ' state="initial"')
    once = translated(draft, Result(("Eins",)))
    assert texts(once.encode(), "note") == ["Ein & b"]
    assert 'state="translated"' in once
    [done] = parse(once.encode(), EN_DE).segments
    assert (done.note, done.state) == ("", Status.DONE)
    back = once.replace('state="translated"', 'state="initial"')
    twice = parse(back.encode(), EN_DE).render([Result(("Eins!",), ("why",))])
    assert sorted(texts(twice, "note")) == ["Ein & b", "Eins", "why"]
    assert parse(twice, EN_DE).render([Result(("Eins!",))]) == twice.replace(b"initial", b"initial")


def test_notes_of_others_stay_and_each_segment_has_its_own() -> None:
    units = (
        '<unit id="u">\n <notes>\n  <note>Keep</note>\n </notes>\n'
        "<segment><source>One</source></segment><segment><source>Two</source></segment></unit>"
    )
    both = translated(units, Result(("Eins",), ("a",)), Result(("Zwei",), ("b",)))
    assert texts(both.encode(), "note") == ["Keep", "a", "b"]
    assert '\n  <note>Keep</note>\n  <note id="dragoman-1" category="dragoman">a</note>\n' in both
    one = parse(both.encode(), EN_DE).render([None, Result(("Drei",))])
    assert texts(one, "note") == ["Keep", "a"]
    assert texts(parse(one, EN_DE).render([Result(("Drei",)), None]), "note") == ["Keep"]


def test_notes_come_before_original_data() -> None:
    units = unit('One<ph id="1" dataRef="d"/>').replace(
        "<segment>", '<originalData><data id="d">x</data></originalData>\n   <segment>', 1
    )
    code = Code('<ph id="1" dataRef="d"/>', "placeholder")
    new = translated(units, Result(("Eins", code), ("why",)))
    assert new.index("</notes>") < new.index("<originalData>")


def test_a_target_needs_what_its_codes_need() -> None:
    source = f'xml:space="preserve" xmlns:fs="{STYLE}"'
    units = unit('<pc id="1" fs:fs="b">One</pc>').replace("<source>", f"<source {source}>")
    content = contents(units)[0]
    new = translated(units, Result((content[0], "Eins", content[2])))
    assert f'<target xmlns:fs="{STYLE}" xml:space="preserve"><pc id="1" fs:fs="b">Eins</pc>' in new
    old = units.replace("</source>", '</source><target xml:space="preserve">x</target>')
    assert texts(translated(old, Result((content[0], "Eins", content[2]))).encode(), "target") == ["Eins"]


def test_forbidden_characters_become_code_points() -> None:
    new = translated(unit("One"), Result(("A\x1bB\ud800\uffff",), ("C\x00",)))
    assert '<target>A<cp hex="001B"/>B<cp hex="D800"/><cp hex="FFFF"/></target>' in new
    assert texts(new.encode(), "note") == ["C\ufffd"]


def test_a_new_target_takes_a_free_place() -> None:
    units = (
        '<unit id="u"><segment><source>One</source></segment>'
        '<segment><source>Two</source><target order="1">Zwei</target></segment></unit>'
    )
    assert '<target order="2">Eins</target>' in translated(units, Result(("Eins",)), None)


def test_prefixes_and_line_ends_are_those_of_the_file() -> None:
    text = file(unit("One\nTwo")).decode().replace("</", "</x:").replace("\n", "\r\n")
    text = text.replace("<", "<x:").replace("<x:/x:", "</x:").replace("xmlns=", "xmlns:x=")
    new = parse(text.encode(), EN_DE).render([Result(("Eins\nZwei",), ("why",))]).decode()
    assert "<x:target>Eins\r\nZwei</x:target>" in new
    assert '<x:note id="dragoman-1" category="dragoman">why</x:note>' in new
    assert new.count("\n") == new.count("\r\n")


def test_foreign_elements_are_not_translated() -> None:
    match = (
        f'<m:matches xmlns:m="urn:oasis:names:tc:xliff:matches:2.0" xmlns:x="{V20}"><m:match>'
        "<x:source>No</x:source><x:target>Nein</x:target></m:match></m:matches>"
    )
    text = unit("Yes").replace("<segment>", f"{match}<segment>")
    assert contents(text) == [("Yes",)]
    assert match in translated(text, Result(("Ja",)))


def test_codes_that_are_needed_again_are_copies() -> None:
    """Also the pairs of <sc> and <ec>, and <mrk>, which has no copies."""
    codes = '<ph id="1" dataRef="d"/> of <sc id="2"/>my<ec startRef="2"/> <mrk id="3" type="term">dogs</mrk>'
    segment = f"<segment><source>In {{n, plural, one {{a}} other {{b}}}} {codes}</source></segment>"
    data = '<originalData><data id="d">x</data></originalData>'
    document = parse(file(f'<unit id="u">{data}{segment}</unit>'), EN_DE)
    new, _, _ = translate_document(cast("Translator", Pretend(str.upper)), document)
    copied = (
        '<ph id="1-copy" copyOf="1"/> OF <sc id="2-copy" copyOf="2"/>MY<ec startRef="2-copy"/> '
        '<mrk id="3-copy" type="term">DOGS</mrk>'
    )
    first = codes.replace("of", "OF").replace("my", "MY").replace("dogs", "DOGS")
    assert f"<target>{{n, plural, one {{IN A {first}}} other {{IN B {copied}}}}}</target>" in new.decode()
    parse(new, EN_DE)


def test_plural_forms_of_symfony_are_read() -> None:
    file = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" xmlns:pgs="urn:oasis:names:tc:xliff:pgs:1.0"'
        ' version="2.2" srcLang="en"><file id="f"><unit id="1" pgs:switch="plural:n"><segment pgs:case="0">'
        "<source>No dogs</source></segment></unit></file></xliff>"
    )
    assert [text_of(one.source) for one in parse(file.encode(), Languages("en", "de")).segments] == [
        "No dogs"
    ]
