from __future__ import annotations

import pytest

from dragoman.base.errors import DataError
from dragoman.documents.xliff.rules import check
from dragoman.documents.xml.pieces import split_xml
from tests.documents.xliff.xliff_files import V20

HEAD = (
    f'<xliff xmlns="{V20}" version="2.1" srcLang="en" trgLang="de" xmlns:m="urn:mine" '
    'xmlns:fs="urn:oasis:names:tc:xliff:fs:2.0" xmlns:val="urn:oasis:names:tc:xliff:validation:2.0">'
)
FIXED = 'canCopy="no" canDelete="no"'


def refusal(text: str) -> str:
    try:
        check(text, split_xml(text)[1])
    except DataError as error:
        return str(error)
    return ""


def of_file(inside: str, more: str = "") -> str:
    return refusal(f'{HEAD}\n<file id="f"{more}>{inside}</file></xliff>')


def of_unit(inside: str, more: str = "") -> str:
    return of_file(f'<unit id="u"{more}>{inside}</unit>')


def of_source(source: str, target: str = "", before: str = "") -> str:
    target = f"<target>{target}</target>" if target else ""
    return of_unit(f"{before}<segment>\n<source>{source}</source>\n{target}</segment>")


SEGMENT = "<segment><source>a</source></segment>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'<xliff xmlns="{V20}" version="2.7" srcLang="en"/>', "version='2.7' is not allowed on <xliff>"),
        (f'<xliff xmlns="{V20}" version="2.0"/>', "<xliff> lacks srcLang"),
        (f'<xliff xmlns="{V20}" version="2.0" srcLang="english language"/>', "srcLang='english language'"),
        (f'<xliff xmlns="{V20}" version="2.0" srcLang="en"/>', "<xliff> has the children ()"),
        (f"{HEAD}<body/></xliff>", "<xliff> has the children (body)"),
        (f"{HEAD}<file/></xliff>", "<file> lacks id"),
    ],
)
def test_roots(text: str, message: str) -> None:
    assert message in refusal(text)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (f'<unit id="u">{SEGMENT}</unit>', ""),
        ("<m:x/><notes><note/></notes><group id='g'><m:x/></group>", ""),
        ("<skeleton href='a'/><unit id='u'>" + SEGMENT + "</unit>", ""),
        ("<skeleton>x</skeleton><group id='g'/>", ""),
        ("<skeleton href='a'>x</skeleton><group id='g'/>", "either href or content"),
        ("<skeleton/><group id='g'/>", "either href or content"),
        ("<group id='g'/><m:x/>", "<file> has the children (group, other)"),
        ("<group id='g' type='mine'/>", "type='mine' is not allowed on <group>"),
        ("<group id='g' colour='red'/>", "<group> must not have colour"),
        ("<group id='g' m:colour='red' xml:lang='en'/>", ""),
        ("<group id='g' fs:fs='b' fs:subFs='x'/>", ""),
        ("<group id='g' fs:fs='blink'/>", "fs='blink' of the format style module"),
        ("<group id='g' fs:css='b'/>", "css='b' of the format style module"),
        ("<val:validation><val:rule/></val:validation><group id='g'/>", ""),
        (
            "<val:validation><val:role/></val:validation><group id='g'/>",
            "module has no <role>",
        ),
        ("<m:x id='a'/><group id='g'><m:x id='a'/></group>", ""),
        ("<m:x id='a'><m:y xml:id='a'/></m:x><group id='g'/>", "the id 'a' is there twice"),
        ("<group id='g'><group id='g'/></group>", "the id 'g' is there twice"),
        (
            f"<unit id='u'>{SEGMENT}</unit><group id='u'><unit id='u'>{SEGMENT}</unit></group>",
            "the id 'u' is",
        ),
        ("<group id='g'><notes><note id='n'/><note id='n'/></notes></group>", "the id 'n' is there twice"),
        ("<group id='g'><notes><note priority='11'/></notes></group>", "priority='11'"),
    ],
)
def test_files_and_groups(inside: str, message: str) -> None:
    found = of_file(inside)
    assert message in found
    assert bool(found) is bool(message)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("<ignorable><source> </source></ignorable>", "<unit> has the children (ignorable)"),
        (f"{SEGMENT}<notes><note/></notes>", "<unit> has the children (segment, notes)"),
        ("<segment><target>a</target></segment>", "<segment> has the children (target)"),
        ("<segment><source/><source/></segment>", "<segment> has the children (source, source)"),
        ("<segment state='done'><source/></segment>", "state='done'"),
        ("<segment subState='a:b'><source/></segment>", "subState needs state"),
        ("<segment state='final' subState='ab'><source/></segment>", "subState='ab'"),
        ("<segment><source xml:space='preserve'/><target/></segment>", "differ in xml:space"),
        ("<segment><source xml:lang='EN'/><target xml:lang='de'/></segment>", ""),
        ("<segment><source xml:lang='fr'/></segment>", "xml:lang is 'fr' on <source>, but 'en' on <xliff>"),
        ("<segment><source/><target xml:lang='fr'/></segment>", "xml:lang is 'fr' on <target>"),
        ("<segment id='a'><source/></segment><ignorable id='a'><source/></ignorable>", "the id 'a' is there"),
        ("<segment id='a'><source><ph id='a'/></source></segment>", "the id 'a' is there twice"),
        ("<segment id='a b'><source/></segment>", "id='a b' is not allowed on <segment>"),
        (
            "<segment><source/><target order='2'/></segment><segment><source/><target/></segment>",
            "two targets of this unit have the order 2",
        ),
        ("<segment><source/><target order='x'/></segment>", "order='x'"),
        ("<originalData><m:x/></originalData>" + SEGMENT, "<originalData> has the children (other)"),
        ("<originalData><data id='d'/><data id='d'/></originalData>" + SEGMENT, "the id 'd' is there twice"),
    ],
)
def test_units_and_segments(inside: str, message: str) -> None:
    found = of_unit(inside)
    assert message in found
    assert bool(found) is bool(message)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a<b>c</b>", "<source> has the children (b)"),
        ("<ph/>", "<ph> lacks id"),
        ("<ph id='1' m:x='y'/>", "<ph> must not have x"),
        ("<ph id='1' type='bold'/>", "type='bold' is not allowed on <ph>"),
        ("<mrk id='1' type='my:own' m:x='y'/>", ""),
        ("<ph id='1' subType='my:x'/>", "subType='my:x' needs type='...'"),
        ("<ph id='1' type='ui' subType='xlf:b'/>", "subType='xlf:b' needs type='fmt'"),
        ("<ph id='1' type='ui' subType='xlf:zz'/>", "subType='xlf:zz' is not defined"),
        ("<ph id='1' type='ui' subType='my:x'/>", ""),
        ("<cp hex='001F'/><cp hex='d800'/><cp hex='FFFF'/>", ""),
        ("<cp hex='0041'/>", '<cp hex="0041"/> is not a character that XML forbids'),
        ("<cp hex='110000'/>", '<cp hex="110000"/> is not'),
        ("<cp hex='x'/>", "hex='x' is not allowed on <cp>"),
        ("<ph id='1' dataRef='d'/><pc id='2' dataRefStart='d' dataRefEnd='d'/>", ""),
        ("<ph id='1' dataRef='e'/>", "dataRef='e' is not the id of <data> in this unit"),
        ("<pc id='1' dataRefStart='d' dataRefEnd='e'/>", "dataRefEnd='e'"),
        ("<pc id='1' dataRefStart='e' dataRefEnd='d'/>", "dataRefStart='e'"),
        ("<ph id='1' subFlows='u u'/>", ""),
        ("<ph id='1' subFlows='u w'/>", "subFlows names 'w', which is not a unit of this file"),
        ("<ph id='1'/><ph id='2' copyOf='1'/>", ""),
        ("<ph id='1'/><ph id='2' copyOf='3'/>", "copyOf='3' is not the id of a code in this unit"),
        ("<ph id='1' canCopy='no'/><ph id='2' copyOf='1'/>", "the code '1' must not be copied"),
        ("<ph id='1'/><ph id='2' copyOf='1' dataRef='d'/>", "either copyOf or original data"),
        ("<mrk id='1' type='comment' value='v'/><mrk id='2' type='comment' ref='#n=n'/>", ""),
        ("<mrk id='1' type='comment' ref='#f=f/u=u/n=n'/><mrk id='2' type='comment' ref='#u=u/n=n'/>", ""),
        ("<mrk id='1' type='comment'/>", "a comment has either value or ref"),
        ("<mrk id='1' type='comment' value='v' ref='#n=n'/>", "a comment has either value or ref"),
        ("<mrk id='1' type='comment' ref='#n=o'/>", "ref='#n=o' is not a note of this unit"),
        ("<mrk id='1' type='comment' ref='#f=f/n=n'/>", "ref='#f=f/n=n' is not a note of this unit"),
        ("<mrk id='1' type='comment' ref='#u=v/n=n'/>", "ref='#u=v/n=n' is not a note of this unit"),
        ("<mrk id='1' type='comment' ref='#n'/>", "ref='#n' is not a note of this unit"),
        *[(f"<mrk id='1' ref='{ref}'/>", "") for ref in ("a b", "#a", "#/f=f/g=g/u=u/t=1", "#f=f", "#abc=1")],
        *[
            (f"<mrk id='1' ref='{ref}'/>", f"ref='{ref}' is not allowed on <mrk>")
            for ref in ("#a/b", "#u=u/f=f", "#f=f/f=f", "#n=n/u=u", "#z=1", "#f=f/", "#$$=1")
        ],
        ("<sc id='1'/>", "<sc> has no <ec> after it"),
        ("<ec startRef='1'/><sc id='1'/>", "no <sc> before it has the id '1'"),
        ("<ec id='1'/>", "an <ec> that is not isolated has startRef and no id"),
        ("<sc id='1'/><ec id='2' startRef='1'/>", "an <ec> that is not isolated has startRef and no id"),
        ("<ec startRef='1' isolated='yes'/>", "an isolated <ec> has an id and no startRef"),
        ("<sc id='1' isolated='yes'/><ec startRef='1'/>", "no <sc> before it has the id '1'"),
        ("<sc id='1' isolated='yes'/><ec id='2' isolated='yes' fs:fs='b'/>", ""),
        ("<sc id='1'/><ec startRef='1' fs:fs='b'/>", "fs='b' of the format style module"),
        ("<sm id='1'/>", "<sm> has no <em> after it"),
        ("<em startRef='1'/>", "no <sm> before it has the id '1'"),
        ("<sm id='1'/><ec startRef='1'/>", "startRef is the id of <sm>"),
        *[
            (f"<sc id='1' {name}='no'/><ec startRef='1' {name}='yes'/>", f"<ec> must have {name}='no'")
            for name in ("canCopy", "canDelete", "canOverlap")
        ],
        ("<ph id='1' canReorder='firstNo' canCopy='no'/>", 'needs canCopy="no" and canDelete="no"'),
        (f"<ph id='1' canReorder='no' {FIXED}/>", 'needs a code with canReorder="firstNo" before it'),
        (
            f"<sc id='1' canReorder='firstNo' {FIXED}/><ec startRef='1' canReorder='firstNo' {FIXED}/>",
            "<ec> must have canReorder='no'",
        ),
    ],
)
def test_codes_and_marks(source: str, message: str) -> None:
    before = "<notes><note id='n'/></notes><originalData><data id='d'/></originalData>"
    found = of_source(source, before=before)
    assert message in found
    assert bool(found) is bool(message)
    assert found.startswith("line 3: " if message else "")


FIRST = f"<ph id='1' canReorder='firstNo' {FIXED}/>"
NEXT = f"<pc id='2' canReorder='no' {FIXED}>a</pc>"


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("<ph id='1'/>", "<ph id='1'/><ph id='2'/>", ""),
        ("<ph id='1'/>", "<ph id='1'/><ph id='1'/>", "the id '1' is there twice"),
        ("<ph id='1' canDelete='no'/>", "a", "<target> lacks the code '1', which must stay"),
        ("<sc id='1'/><ec startRef='1'/>", "<ec startRef='1'/><sc id='1'/>", "no <sc> before it"),
        (FIRST + NEXT + "<ph id='3'/>", "<ph id='3'/>" + FIRST + "b" + NEXT, ""),
        (FIRST + NEXT + "<ph id='3'/>", NEXT + FIRST, "must have the order of the source"),
        (FIRST + NEXT + "<ph id='3'/>", FIRST + "<ph id='3'/>" + NEXT, "must have the order of the source"),
        (FIRST + NEXT, f"{FIRST}<pc id='2' canReorder='no' {FIXED}/>", ""),
        (
            f"<pc id='2' canReorder='firstNo' {FIXED}><ph id='3' canReorder='no' {FIXED}/></pc>",
            f"<pc id='2' canReorder='firstNo' {FIXED}/><ph id='3' canReorder='no' {FIXED}/>",
            "must have the order",
        ),
    ],
)
def test_targets(source: str, target: str, message: str) -> None:
    found = of_source(source, target)
    assert message in found
    assert bool(found) is bool(message)


def test_a_unit_with_some_targets_may_have_one_half_of_a_pair() -> None:
    first = "<segment><source><sc id='1'/></source><target><sc id='1'/></target></segment>"
    second = "<segment><source><ec startRef='1'/></source></segment>"
    assert of_unit(first + second) == ""
    assert "<sc> has no <ec> after it" in of_unit(first + second.replace("</segment>", "<target/></segment>"))


def test_targets_are_compared_in_their_order() -> None:
    first = "<segment><source><sc id='1'/></source><target order='2'><ec startRef='1'/></target></segment>"
    second = "<segment><source><ec startRef='1'/></source><target order='1'><sc id='1'/></target></segment>"
    assert of_unit(first + second) == ""


def test_targets_need_a_language() -> None:
    text = f'{HEAD}<file id="f"><unit id="u"><segment><source/><target/></segment></unit></file></xliff>'
    assert refusal(text) == ""
    assert "<target> needs trgLang on <xliff>" in refusal(text.replace(' trgLang="de"', ""))


@pytest.mark.parametrize("depth", [900])
def test_deep_files(depth: int) -> None:
    groups = "".join(f'<group id="g{n}">' for n in range(depth)) + "</group>" * depth
    assert of_file(groups) == ""
    codes = "".join(f'<pc id="{n}">' for n in range(depth)) + "a" + "</pc>" * depth
    assert of_source(codes, codes) == ""
