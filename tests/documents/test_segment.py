from __future__ import annotations

import pytest

from dragoman.documents.formats import FORMATS, Languages
from dragoman.documents.segment import Document, Replacing, Result, Status
from tests.documents.xliff.xliff_files import V12, V20

EN_DE = Languages("en", "de")
_UNIT12 = (
    f'<xliff xmlns="{V12}" version="1.2"><file source-language="en" target-language="de"><body>'
    '<trans-unit id="1"><source>SOURCE</source>%s</trans-unit></body></file></xliff>'
)
_UNIT2 = (
    f'<xliff xmlns="{V20}" version="2.1" srcLang="en" trgLang="de"><file id="f"><unit id="1">'
    "<segment%s><source>SOURCE</source><target>TARGET</target></segment></unit></file></xliff>"
)
_MARKS = '<seg-source><mrk mtype="seg" mid="1">SOURCE</mrk></seg-source><target>%s</target>'
FILES = (
    (
        "po",
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "SOURCE"\nmsgstr "TARGET"\n',
    ),
    ("xliff", _UNIT12 % "<target>TARGET</target>"),
    ("xliff", _UNIT12 % '<target state="translated">TARGET</target>'),
    ("xliff", _UNIT12 % '<target state="new">TARGET</target>'),
    ("xliff", _UNIT12 % (_MARKS % "TARGET")),
    ("xliff", _UNIT12 % (_MARKS % '<mrk mtype="seg" mid="1">TARGET</mrk>')),
    ("xliff", _UNIT2 % ""),
    ("xliff", _UNIT2 % ' state="translated"'),
    ("xliff", _UNIT2 % ' state="initial"'),
    (
        "tmx",
        '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>SOURCE</seg></tuv>'
        '<tuv xml:lang="de"><seg>TARGET</seg></tuv></tu></body></tmx>',
    ),
)


def read(kind: str, text: str, source: str, target: str) -> Document:
    data = text.replace("SOURCE", source).replace("TARGET", target).encode()
    return FORMATS[kind].parse(data, EN_DE)


@pytest.mark.parametrize(("kind", "text"), FILES)
@pytest.mark.parametrize("blank", [" ", "\u200b", "\u2060 \ufeff"])
def test_a_target_that_shows_nothing_is_missing(kind: str, text: str, blank: str) -> None:
    document = read(kind, text, "A dog runs.", blank)
    [segment] = document.segments
    assert (segment.target, segment.state) == (None, Status.MISSING)
    assert Replacing().wants(segment)
    new = document.render([Result(("Ein Hund rennt.",))]).decode()
    assert "Ein Hund rennt." in new
    assert blank.strip() not in new or blank == " "
    assert "previous" not in new
    [segment] = FORMATS[kind].parse(new.encode(), EN_DE).segments
    assert (segment.target, segment.state) == (("Ein Hund rennt.",), Status.DONE)


@pytest.mark.parametrize(("kind", "text"), [one for one in FILES if one[0] != "po"])
def test_a_target_of_codes_shows_something(kind: str, text: str) -> None:
    code = '<ph id="1"/>' if V20 in text else '<ph id="1">{0}</ph>'
    [segment] = read(kind, text, "A dog runs.", code).segments
    assert segment.state is not Status.MISSING


@pytest.mark.parametrize(("kind", "text"), FILES)
def test_a_source_that_shows_nothing_has_such_a_translation(kind: str, text: str) -> None:
    [segment] = read(kind, text, "\u200b", "\u200b").segments
    assert segment.state is not Status.MISSING
