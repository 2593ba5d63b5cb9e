from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from lxml import etree

from dragoman.base.errors import DataError
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Content, Document, Result
from dragoman.documents.xliff.xliff import parse
from dragoman.documents.xml.inline import same_content
from tests.documents.xliff.xliff_files import SUITE, files2, files12, needs_suite, read, schema22

EN_DE = Languages("en", "de")
ANY = Languages("", "")  # the files of the suite have several


def unchanged(document: Document) -> bytes:
    return document.render([None] * len(document.segments))


def again(document: Document) -> bytes:
    """The file with the translations that it has."""
    return document.render([Result(one.target) if one.target else None for one in document.segments])


def turned(content: Content) -> Content:
    """Another content with the same codes."""
    return tuple(one[::-1].upper() + "&<" if isinstance(one, str) else one for one in content)


def check_edit(data: bytes) -> bytes:
    """Translate a file, and compare it with what other readers see in it."""
    document = parse(data, EN_DE)
    assert all(one.target is None or same_content(one.target, one.source) for one in document.segments)
    news = [turned(one.source) for one in document.segments]
    new = document.render([Result(content) for content in news])
    targets = [one.target for one in parse(new, EN_DE).segments]
    assert len(targets) == len(news)
    for target, content in zip(targets, news, strict=True):
        assert target is not None
        assert same_content(target, content)
    assert parse(new, EN_DE).render([Result(content) for content in news]) == new
    before, after = read(data), read(new)
    for one in [*before.iter("{*}target"), *after.iter("{*}target")]:
        if not one.getparent().tag.endswith("alt-trans"):
            one.getparent().remove(one)
    assert shape(before) == shape(after)
    return new


def shape(root: Any) -> list[tuple[str, dict[str, str], str]]:
    """All but the attributes that a translation may change."""
    free = {"state", "subState", "trgLang", "target-language", "approved"}
    return [
        (
            one.tag,
            {key: value for key, value in one.attrib.items() if key not in free},
            (one.text or "").strip(),
        )
        for one in root.iter("{*}*")
    ]


@pytest.mark.thorough
@given(files2())
def test_generated_files_of_version_2(data: bytes) -> None:
    check_edit(data)


@pytest.mark.thorough
@given(files12())
def test_generated_files_of_version_12(data: bytes) -> None:
    check_edit(data)


@needs_suite
def test_valid_files_of_the_suite_come_back_unchanged() -> None:
    files = [*SUITE.glob("valid/*.xlf"), *SUITE.glob("in-out/*.xlf")]
    assert len(files) > 40
    for file in files:
        document = parse(file.read_bytes(), ANY)
        assert unchanged(document) == file.read_bytes(), file.name
        assert again(document) == file.read_bytes(), file.name


# The prefix is not in the list of the committee, which a translator does not follow.
PASSED = {"bad_InvalidFragIdUnknownPrefix.xlf"}


@needs_suite
def test_invalid_files_of_the_suite_are_refused_with_a_line() -> None:
    files = list(SUITE.glob("invalid/*.xlf"))
    assert len(files) > 110
    messages = {file.name: refusal(file.read_bytes()) for file in files}
    assert {name for name, message in messages.items() if not message} == PASSED
    assert all(message.startswith("line ") for message in messages.values() if message)


def refusal(data: bytes) -> str:
    try:
        parse(data, ANY)
    except DataError as error:
        return str(error)
    return ""


@needs_suite
def test_written_files_of_the_suite_are_valid() -> None:
    schema = schema22()
    count = 0
    for file in SUITE.glob("valid/*.xlf"):
        document = parse(file.read_bytes(), ANY)
        for doubts in [(), ("number differs: 5", "too <long>")]:
            results = [Result(turned(one.source), doubts) for one in document.segments]
            trg = read(file.read_bytes()).get("trgLang") or "fr"
            document = parse(file.read_bytes(), Languages("", trg))
            new = document.render(list(results))
            assert schema.validate(read(new)), (file.name, schema.error_log)
            assert len(parse(new, Languages("", trg)).segments) == len(results)
            assert parse(new, ANY).render(list(results)) == new, file.name
            count += len(results)
    assert count > 90


@pytest.mark.thorough
@needs_suite
@given(files2())
def test_written_files_of_version_2_are_valid(data: bytes) -> None:
    document = parse(data, EN_DE)
    half = [
        Result(turned(one.source), ("why",)) if n % 2 else None for n, one in enumerate(document.segments)
    ]
    assert SCHEMA.validate(read(document.render(half))), SCHEMA.error_log
    assert SCHEMA.validate(read(check_edit(data))), SCHEMA.error_log


SCHEMA: Any = schema22() if SUITE.is_dir() else None


def test_files_for_other_languages_are_refused() -> None:
    text = (
        '<xliff version="2.0" srcLang="en-US" trgLang="fr" xmlns="urn:oasis:names:tc:xliff:document:2.0">'
        '<file id="f"><unit id="u"><segment><source>One</source></segment></unit></file></xliff>'
    )
    assert [one.source for one in parse(text.encode(), Languages("en", "fr-CA")).segments] == [("One",)]
    with pytest.raises(DataError, match="line 1: trgLang is 'fr', not 'de'"):
        parse(text.encode(), EN_DE)
    with pytest.raises(DataError, match="line 1: srcLang is 'en-US', not 'de'"):
        parse(text.encode(), Languages("de", "fr"))
    old = (
        '<xliff version="1.2">\n<file source-language="en" target-language="fr"><body>'
        '<trans-unit id="1"><source>One</source></trans-unit></body></file></xliff>'
    )
    with pytest.raises(DataError, match="line 2: target-language is 'fr', not 'de'"):
        parse(old.encode(), EN_DE)


TEMPLATES = (
    '<xliff version="1.2">\n<file source-language="en-US" target-language="en-GB"><body>'
    '<trans-unit id="1"><source>One</source><target xml:lang="en" state="new">One</target></trans-unit>'
    "</body></file></xliff>",
    '<xliff version="2.0" srcLang="en-US" trgLang="en-US" xmlns="urn:oasis:names:tc:xliff:document:2.0">'
    '<file id="f"><unit id="u"><segment><source>One</source></segment></unit></file></xliff>',
)


@pytest.mark.parametrize("text", TEMPLATES)
def test_a_template_that_names_its_source_as_the_target_gets_the_target_language(text: str) -> None:
    document = parse(text.encode(), EN_DE)
    assert document.render([None]) == text.encode()
    new = read(document.render([Result(("Eins",))]))
    named = [value for one in new.iter() for name, value in one.attrib.items() if re.search("(?i)lang", name)]
    assert named == (["en-US", "de", "de"] if "1.2" in text else ["en-US", "de"])
    with pytest.raises(DataError, match="is 'en-"):
        parse(text.encode(), Languages("de", "fr"))


def test_an_empty_target_language_is_filled() -> None:
    text = TEMPLATES[0].replace('target-language="en-GB"', 'target-language=""')
    assert b'target-language="de"' in parse(text.encode(), EN_DE).render([Result(("Eins",))])


@pytest.mark.parametrize("text", TEMPLATES)
def test_the_version_may_be_missing(text: str) -> None:
    bare = re.sub(r' version="\S+"', "", text)
    new = parse(bare.encode(), EN_DE).render([Result(("Eins",))]).decode()
    assert re.findall(r"<target.*?>(.*?)</target>", new) == ["Eins"]
    assert " version=" not in new


@pytest.mark.parametrize("encoding", ["us-ascii", "iso-8859-1", "windows-1252", "shift_jis"])
def test_characters_that_the_encoding_lacks_become_references(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>{TEMPLATES[0]}'.encode(encoding)
    text = text.replace(b"<source>One</source>", b"<source><![CDATA[One]]></source>")
    words = "Größe: 5 € & łódź <犬> 🐕"
    new = parse(text, EN_DE).render([Result((words,), ("why? 犬",))])
    assert [one.text for one in etree.fromstring(new).iter("target")] == [words]
    assert "犬" in "".join(one.text or "" for one in etree.fromstring(new).iter("note"))
    assert new.decode(encoding).startswith("<?xml")
    again = parse(new, EN_DE)
    assert again.segments[0].target == (words,)
    assert again.render([None]) == new
