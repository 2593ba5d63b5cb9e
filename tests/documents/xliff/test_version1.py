from __future__ import annotations

import pytest

from dragoman.base.errors import DataError
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Code, Content, Result, Status, text_of
from dragoman.documents.xliff.xliff import parse
from tests.documents.xliff.xliff_files import V12, read, texts

EN_DE = Languages("en", "de")
SDL = "http://sdl.com/FileTypes/SdlXliff/1.0"


def file(units: str, head: str = ' target-language="de"') -> bytes:
    return (
        f'<?xml version="1.0"?>\n<xliff xmlns="{V12}" version="1.2">\n <file source-language="en-GB"{head}>\n'
        f"  <header/>\n  <body>\n{units}\n  </body>\n </file>\n</xliff>\n"
    ).encode()


def unit(inside: str, more: str = "") -> str:
    return f'   <trans-unit id="u"{more}>\n{inside}\n   </trans-unit>'


def contents(units: str) -> list[Content]:
    return [one.source for one in parse(file(units), EN_DE).segments]


def kinds(content: Content) -> list[str | tuple[str, int]]:
    return [one if isinstance(one, str) else (one.kind, one.pair) for one in content]


def translated(units: str, *results: Result | None, head: str = ' target-language="de"') -> str:
    new = parse(file(units, head), EN_DE).render(list(results))
    read(new)
    return new.decode()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('<g id="1">a</g><g id="2"/>b', [("open", 1), "a", ("close", 1), ("empty", 0), "b"]),
        ('a<x id="1"/>', ["a", ("placeholder", 0)]),
        ('a<x id="1" ctype="bold"/>', ["a", ("empty", 0)]),
        ('a<ph id="1">{<sub>b</sub>}</ph>', ["a", ("placeholder", 0)]),
        ('<bx id="1" rid="9"/>a<ex id="2" rid="9"/>', [("open", 1), "a", ("close", 1)]),
        ('<bpt id="1">[</bpt>a<ept id="1">]</ept>', [("open", 1), "a", ("close", 1)]),
        ('<bpt id="1">[</bpt>a', [("open", 0), "a"]),
        ('a<it id="1" pos="open">[</it><it id="2" pos="close">]</it>', ["a", ("open", 0), ("close", 0)]),
        ('a <mrk mtype="protected">b <g id="1">c</g></mrk>', ["a ", ("placeholder", 0)]),
        ('a <mrk mtype="term">b</mrk>', ["a ", ("open", 1), "b", ("close", 1)]),
        ('a<e:e xmlns:e="u" f="1">b</e:e>', ["a", ("open", 1), "b", ("close", 1)]),
    ],
)
def test_inline_elements_are_codes(source: str, expected: list[str | tuple[str, int]]) -> None:
    [content] = contents(unit(f"<source>{source}</source>"))
    assert kinds(content) == expected


def test_codes_say_what_a_reader_sees() -> None:
    [content] = contents(unit('<source>a<x id="1" ctype="lb"/>b <mrk mtype="protected">c</mrk></source>'))
    codes = [one for one in content if isinstance(one, Code)]
    assert [(one.shown, one.breaks) for one in codes] == [("\n", True), ("c", False)]
    assert text_of(content) == "a\nb c"


def test_translate_is_inherited() -> None:
    units = (
        '<group translate="no">'
        + unit("<source>a</source>")
        + unit("<source>b</source>", ' translate="yes"')
        + "</group><group>"
        + unit("<source>c</source>")
        + unit("<source>d</source>", ' translate="no"')
        + "</group>"
    )
    assert contents(units) == [("b",), ("c",)]


@pytest.mark.parametrize(
    ("more", "target", "state"),
    [
        ("", "", Status.MISSING),
        ("", "<target/>", Status.MISSING),
        ("", "<target>Eins</target>", Status.DONE),
        (' approved="yes"', "<target>Eins</target>", Status.DONE),
        (' approved="no"', "<target>Eins</target>", Status.DOUBTFUL),
        ("", '<target state="needs-translation">Eins</target>', Status.DRAFT),
        ("", '<target state="new">Eins</target>', Status.DRAFT),
        ("", '<target state="needs-review-translation">Eins</target>', Status.DOUBTFUL),
        ("", '<target state="needs-l10n">Eins</target>', Status.DOUBTFUL),
        ("", '<target state-qualifier="mt-suggestion">Eins</target>', Status.DOUBTFUL),
        (' approved="no"', '<target state="final">Eins</target>', Status.DONE),
        ("", '<target state="x-own">Eins</target>', Status.DONE),
    ],
)
def test_states(more: str, target: str, state: Status) -> None:
    [found] = parse(file(unit(f"<source>One</source>{target}", more)), EN_DE).segments
    assert found.state is state
    assert found.target == (("Eins",) if "Eins" in target else None)


def test_notes_names_and_lines() -> None:
    notes = '<note>Be brief</note><note from="dragoman">x</note><note from="me">A &lt; B</note>'
    inside = f"<source>One</source>{notes}"
    [found] = parse(file(unit(inside, ' resname="key"')), EN_DE).segments
    assert (found.note, found.context, found.where) == ("Be brief\nA < B", "key", "line 7")


def test_a_new_target_comes_after_its_source() -> None:
    new = translated(unit("    <source>One</source>\n    <note>n</note>"), Result(("A & <b>",)), head="")
    target = '<target state="translated">A &amp; &lt;b&gt;</target>'
    assert new == file(unit(f"    <source>One</source>\n    {target}\n    <note>n</note>")).decode()


def test_an_old_target_is_replaced_and_no_longer_approved() -> None:
    old = unit(
        "<source>One</source><target state='final' state-qualifier='exact-match'>Ein</target>",
        ' approved="yes"',
    )
    new = unit('<source>One</source><target state="translated">Eins</target>', ' approved="no"')
    assert translated(old, Result(("Eins",))) == file(new).decode()
    assert translated(old, Result(("Ein",))) == file(old).decode()
    empty = unit('<source>One</source><target  xml:lang="de" />')
    assert '<target  xml:lang="de" state="translated">Eins</target>' in translated(empty, Result(("Eins",)))


def test_doubts_are_a_state_and_a_note() -> None:
    once = translated(unit("    <source>One</source>"), Result(("Eins",), ("number differs", "too long")))
    target = '<target state="needs-review-translation">Eins</target>'
    note = '<note from="dragoman">number differs; too long</note>'
    assert once == file(unit(f"    <source>One</source>\n    {target}\n    {note}")).decode()


SEGMENTED = (
    '<source>One. Two.</source>\n<seg-source><g id="9"><mrk mtype="seg" mid="1">One.</mrk> '
    '<mrk mtype="seg" mid="2">Two.</mrk></g></seg-source>'
)


def test_a_draft_that_is_replaced_stays_as_a_note() -> None:
    draft = unit('<source>One <x id="1"/></source>\n<target state="new">Ein <x id="1"/> &amp; b</target>')
    new = unit(
        '<source>One <x id="1"/></source>\n<target state="translated">Eins</target>\n'
        '<note from="dragoman: previous target">Ein &lt;x id="1"/&gt; &amp; b</note>'
    )
    assert texts(translated(draft, Result(("Eins",))).encode(), "note") == ['Ein <x id="1"/> & b']
    assert translated(draft, Result(("Eins",))) == file(new).decode()
    back = new.replace("translated", "new").replace("Eins", "Zwei")
    assert texts(translated(back, Result(("Eins",))).encode(), "note") == ["Zwei", 'Ein <x id="1"/> & b']
    [again] = parse(file(new), EN_DE).segments
    assert again.note == ""
    copy = unit('<source>One</source>\n<target state="new">One</target>')
    assert "note" not in translated(copy, Result(("Eins",)))


def test_a_draft_of_several_segments_stays_too() -> None:
    whole = unit(f'{SEGMENTED}\n<target state="new">Eins und Zwei</target>')
    parts = unit(
        f'{SEGMENTED}\n<target state="new"><mrk mtype="seg" mid="1">E.</mrk>'
        '<mrk mtype="seg" mid="2">Z.</mrk></target>'
    )
    results = Result(("Eins.",)), Result(("Zwei.",))
    assert texts(translated(whole, *results).encode(), "note") == ["Eins und Zwei"]
    assert texts(translated(parts, *results).encode(), "note") == ["1: E.", "2: Z."]


def test_a_persons_doubt_about_another_segment_stays() -> None:
    half = (
        f'{SEGMENTED}\n<target state="needs-review-l10n"><mrk mtype="seg" mid="1">E.</mrk>'
        '<mrk mtype="seg" mid="2"></mrk></target>'
    )
    assert [one.state for one in parse(file(unit(half)), EN_DE).segments] == [Status.DOUBTFUL, Status.MISSING]
    assert 'state="needs-review-' in translated(unit(half), None, Result(("Zwei.",)))
    assert 'state="translated"' in translated(unit(half), Result(("Eins.",)), Result(("Zwei.",)))


def test_segments_of_a_segmented_source() -> None:
    document = parse(file(unit(SEGMENTED)), EN_DE)
    assert [one.source for one in document.segments] == [("One.",), ("Two.",)]
    new = translated(unit(SEGMENTED), Result(("Eins.",)), Result(("Zwei.",), ("why",)))
    target = (
        '<target state="needs-review-translation"><g id="9"><mrk mtype="seg" mid="1">Eins.</mrk> '
        '<mrk mtype="seg" mid="2">Zwei.</mrk></g></target>'
    )
    assert new == file(unit(f'{SEGMENTED}\n{target}\n<note from="dragoman">2: why</note>')).decode()
    document = parse(new.encode(), EN_DE)
    assert [one.target for one in document.segments] == [("Eins.",), ("Zwei.",)]
    other = document.render([Result(("1.",)), None]).decode()
    assert other == new.replace("Eins.", "1.")
    done = parse(other.encode(), EN_DE).render([None, Result(("2.",))]).decode()
    target = (
        target.replace("Eins", "1").replace("Zwei", "2").replace("needs-review-translation", "translated")
    )
    assert done == file(unit(f"{SEGMENTED}\n{target}")).decode()


def test_segments_without_words_are_copied() -> None:
    mark = '<mrk mtype="seg" mid="2"><x id="1"/></mrk>'
    segmented = (
        '<source>One. <x id="1"/></source>\n<seg-source><mrk mtype="seg" mid="1">One.</mrk> '
        f"{mark}</seg-source>"
    )
    target = f'<target state="translated"><mrk mtype="seg" mid="1">Eins.</mrk> {mark}</target>'
    new = translated(unit(segmented), Result(("Eins.",)))
    assert new == file(unit(f"{segmented}\n{target}")).decode()
    empty = new.replace(target, target.replace(mark, mark.replace('<x id="1"/>', "")).replace("Eins.", ""))
    assert target in parse(empty.encode(), EN_DE).render([Result(("Eins.",))]).decode()


def test_segments_without_a_number_are_left() -> None:
    marks = '<mrk mtype="seg" mid="1">One.</mrk><mrk mtype="seg"><x id="1"/></mrk>'
    segmented = f"<source>One.</source><seg-source>{marks}</seg-source>"
    assert ">Eins.</mrk>" in translated(unit(segmented), Result(("Eins.",)))


def test_one_segment_of_a_segmented_source() -> None:
    new = translated(unit(SEGMENTED), None, Result(("Zwei.",)))
    assert '<mrk mtype="seg" mid="1"></mrk> <mrk mtype="seg" mid="2">Zwei.</mrk>' in new
    segments = parse(new.encode(), EN_DE).segments
    assert [(one.target, one.state) for one in segments] == [
        (None, Status.MISSING),
        (("Zwei.",), Status.DONE),
    ]
    both = parse(new.encode(), EN_DE).render([Result(("Eins.",)), None]).decode()
    assert '<mrk mtype="seg" mid="1">Eins.</mrk> <mrk mtype="seg" mid="2">Zwei.</mrk>' in both


def test_a_target_that_lacks_a_segment_keeps_the_others() -> None:
    units = unit(f'{SEGMENTED}<target><mrk mtype="seg" mid="1">Eins.</mrk></target>')
    new = translated(units, None, Result(("Zwei.",)))
    assert '<g id="9"><mrk mtype="seg" mid="1">Eins.</mrk> <mrk mtype="seg" mid="2">Zwei.</mrk></g>' in new


def test_a_whole_target_of_a_segmented_source_is_not_missing() -> None:
    units = unit(f"{SEGMENTED}<target>Eins. Zwei.</target>")
    assert [(one.target, one.state) for one in parse(file(units), EN_DE).segments] == [
        (None, Status.DONE)
    ] * 2


def test_other_parts_of_a_unit_stay() -> None:
    rest = (
        "<context-group><context context-type='sourcefile'>a.ts</context></context-group>"
        "<alt-trans><source>Old</source><target state='final'>Alt</target></alt-trans>"
        "<my:x xmlns:my='m'><source>No</source></my:x>"
    )
    new = translated(unit(f"<source>One</source>{rest}"), Result(("Eins",), ("why",)))
    assert rest in new
    assert texts(new.encode(), "target") == ["Eins", "Alt"]


def test_xcode_angular_and_symfony() -> None:
    xcode = unit("<source>%@ files</source>\n<target>%@ Dateien</target>\n<note/>", ' xml:space="preserve"')
    [found] = parse(file(xcode), EN_DE).segments
    assert (found.source, found.target, found.note) == (("%@ files",), ("%@ Dateien",), "")
    angular = unit(
        '<source>Hi <x id="INTERPOLATION" equiv-text="{{ n > 1 }}"/>!</source>', ' datatype="html"'
    )
    [content] = contents(angular)
    assert kinds(content) == ["Hi ", ("placeholder", 0), "!"]
    new = translated(angular, Result(("Hallo ", *content[1:])))
    assert 'Hallo <x id="INTERPOLATION" equiv-text="{{ n > 1 }}"/>!</target>' in new
    head = '<xliff version="1.2"><file source-language="en"><body><trans-unit id="1">'
    symfony = f"{head}<source>a</source></trans-unit></body></file></xliff>".encode()
    new = parse(symfony, EN_DE).render([Result(("b",))]).decode()
    assert '<file source-language="en" target-language="de">' in new
    assert '<source>a</source><target state="translated">b</target>' in new


def test_trados() -> None:
    units = (
        (
            '<group><sdl:cxts><sdl:cxt id="1"/></sdl:cxts>'
            + unit(
                '<source><g id="5">One.</g></source>'
                '<seg-source><g id="5"><mrk mtype="seg" mid="1">One.</mrk></g></seg-source>'
                '<target><g id="5"><mrk mtype="seg" mid="1"/></g></target>'
                '<sdl:seg-defs><sdl:seg id="1" conf="Draft"/></sdl:seg-defs>'
            )
            + unit('<source><x id="0"/></source>', ' translate="no"')
            + "</group>"
        )
        .replace("<sdl:cxts>", f'<sdl:cxts xmlns:sdl="{SDL}">')
        .replace("<sdl:seg-defs>", f'<sdl:seg-defs xmlns:sdl="{SDL}">')
    )
    [found] = parse(file(units), EN_DE).segments
    assert (found.source, found.target) == (("One.",), None)
    new = translated(units, Result(("Eins.",)))
    assert (
        '<target state="translated"><g id="5"><mrk mtype="seg" mid="1">Eins.</mrk></g></target><sdl:seg-defs'
        in new
    )


def test_namespaces_that_the_codes_of_a_source_need() -> None:
    units = unit('<source xmlns:a="u"><g id="1" a:b="c">One</g></source>')
    [content] = contents(units)
    new = translated(units, Result((content[0], "Eins", content[2])))
    assert '<target xmlns:a="u" state="translated"><g id="1" a:b="c">Eins</g></target>' in new
    again = parse(new.encode(), EN_DE).render([Result((content[0], "Zwei", content[2]))])
    assert texts(again, "target") == ["Zwei"]


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(DataError, match=r"line 7: XML cannot hold the character U\+0001"):
        translated(unit("<source>One</source>"), Result(("\x01",)))
    with pytest.raises(DataError, match="line 6: <trans-unit> has no <source>"):
        parse(file(unit("<target>One</target>")), EN_DE)


def test_a_target_of_empty_segments_is_filled() -> None:
    """As Trados and others prepare a file for translators."""
    inside = (
        '<source>One. Two.</source><seg-source><mrk mtype="seg" mid="1">One.</mrk> '
        '<mrk mtype="seg" mid="2">Two.</mrk></seg-source><target><mrk mtype="seg" mid="1"/> '
        '<mrk mtype="seg" mid="2"/></target>'
    )
    segments = parse(file(unit(inside)), EN_DE).segments
    assert [(one.target, one.state) for one in segments] == [(None, Status.MISSING)] * 2
    new = translated(unit(inside), Result(("Eins.",)), Result(("Zwei.",)))
    assert '<mrk mtype="seg" mid="1">Eins.</mrk> <mrk mtype="seg" mid="2">Zwei.</mrk></target>\n' in new
