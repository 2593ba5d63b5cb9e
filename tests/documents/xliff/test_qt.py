from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import cast
from xml.sax.saxutils import escape

import pytest
from hypothesis import strategies as st
from lxml import etree

from dragoman.base.errors import DataError
from dragoman.documents.files import left_out_of, tasks_of
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Result, Status, text_of
from dragoman.documents.xliff.qt import Ts, parse

_TEXT = st.text("ab Z&<>'\"\n%1é", min_size=1, max_size=12)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    messages = []
    for source, there in draw(st.lists(st.tuples(_TEXT, st.none() | _TEXT), max_size=4)):
        kind = draw(st.sampled_from(["", ' type="unfinished"', ' type="obsolete"']))
        forms = draw(st.integers(0, 3))
        inner = f"<numerusform>{escape(there or '')}</numerusform>" * forms or escape(there or "")
        note = draw(st.sampled_from(["", "<comment>c</comment>", "<translatorcomment>t</translatorcomment>"]))
        numerus = ' numerus="yes"' * bool(forms)
        translation = "" if there is None else f"<translation{kind}>{inner}</translation>"
        messages.append(f"<message{numerus}><source>{escape(source)}</source>{note}{translation}</message>")
    return f"<TS version='2.1'>\n<context><name>a</name>{''.join(messages)}</context></TS>".encode()


def read(text: str, target: str = "de") -> Ts:
    return parse(text.encode(), Languages("en", target))


def translate(text: str, *new: str | None, target: str = "de", doubts: tuple[str, ...] = ()) -> str:
    results = [None if one is None else Result((one,), doubts) for one in new]
    return read(text, target).render(results).decode()


def file(*messages: str, head: str = '<TS version="2.1">') -> str:
    inner = "".join(f"    <message{one}\n    </message>\n" for one in messages)
    return f"{head}\n<context>\n    <name>Main</name>\n{inner}</context>\n</TS>\n"


ONE = '>\n        <source>One boat</source>\n        <translation type="unfinished"></translation>'
NUMERUS = (
    ' numerus="yes">\n        <source>%n file(s)</source>\n'
    '        <translation type="unfinished">\n            <numerusform></numerusform>\n        </translation>'
)


def test_a_translation_is_finished_and_names_the_language() -> None:
    assert translate(file(ONE), "Ein Boot", target="pt-BR") == file(ONE).replace(
        ' type="unfinished"></translation>', ">Ein Boot</translation>"
    ).replace("<TS ver", "<TS ver").replace('"2.1">', '"2.1" language="pt_BR">')


def test_a_template_names_the_target_afterwards() -> None:
    text = file(ONE, head='<TS version="2.1" language="en_US" sourcelanguage="en">')
    assert '<TS version="2.1" language="de" sourcelanguage="en">' in translate(text, "Ein Boot")
    with pytest.raises(DataError, match="line 1: language is 'en_US', not 'de'"):
        read(text.replace("></translation>", ">One ship</translation>"))


def test_doubts_stand_in_the_comment_of_translators() -> None:
    new = translate(file(ONE), "Boot", doubts=("number differs: 5",))
    assert (
        "        <translatorcomment>dragoman: number differs: 5</translatorcomment>\n"
        '        <translation type="unfinished">Boot</translation>\n'
    ) in new
    assert read(new).segments[0].state is Status.DRAFT
    again = translate(new, "Ein Boot")
    assert "        <translatorcomment>dragoman, previous translation: Boot</translatorcomment>\n" in again
    assert "<translation>Ein Boot</translation>" in again


def test_comments_of_people_stay() -> None:
    text = file(
        ONE.replace("        <tr", "        <translatorcomment>Ask Ada.</translatorcomment>\n        <tr")
    )
    new = translate(text, "Boot", doubts=("copied",))
    assert "<translatorcomment>Ask Ada.\ndragoman: copied</translatorcomment>" in new
    assert (
        "<translatorcomment>Ask Ada.\ndragoman, previous translation: Boot</translatorcomment>"
        in translate(new, "Kahn")
    )
    assert read(new).segments[0].note == "Ask Ada."


@pytest.mark.parametrize(
    ("target", "forms"), [("ja", 1), ("de", 2), ("tr", 1), ("pl", 3), ("mk", 3), ("ar", 6)]
)
def test_numerus_forms_are_as_many_as_qt_wants(target: str, forms: int) -> None:
    segments = read(file(NUMERUS), target).segments
    texts = [text_of(one.source) for one in segments]
    first = "%n file" if 1 < forms < 5 else "%n files"
    assert texts == [first, *["%n files"] * (forms - 1)]
    new = translate(file(NUMERUS), *map(str, range(forms)), target=target)
    lines = "".join(f"            <numerusform>{n}</numerusform>\n" for n in range(forms))
    assert f"<translation>\n{lines}        </translation>" in new


def test_a_missing_form_is_filled_and_the_others_stay() -> None:
    text = file(NUMERUS.replace("></numerusform>", ">A</numerusform><numerusform></numerusform>"))
    new = translate(text, None, "B")
    assert "<translation>\n            <numerusform>A</numerusform><numerusform>B</numerusform>\n" in new


def test_quotes_are_written_as_the_file_does() -> None:
    assert """<translation>&apos;a&apos; &quot;b&quot; &amp;c</translation>""" in translate(
        file(ONE), "'a' \"b\" &c"
    )
    raw = file(ONE.replace("One boat", 'It\'s "one"'))
    assert """<translation>'a' "b"</translation>""" in translate(raw, "'a' \"b\"")
    assert '<translation>a<byte value="x7"/>\nb</translation>' in translate(file(ONE), "a\x07\nb")


def test_messages_without_a_translation_and_without_a_context() -> None:
    text = '<TS>\n<message id="a">\n<source>One boat</source>\n</message>\n<message id="b"/>\n</TS>'
    new = translate(text, "Boot", doubts=("copied",))
    assert (
        "\n<source>One boat</source>\n<translatorcomment>dragoman: copied</translatorcomment>\n"
        '<translation type="unfinished">Boot</translation>\n</message>'
    ) in new


def test_what_is_no_longer_used_and_variants_of_length_stay() -> None:
    kinds = ('type="vanished"', 'type="obsolete"', 'variants="yes"')
    gone = [ONE.replace('type="unfinished"', kind) for kind in kinds]
    assert read(file(*gone)).segments == []


@pytest.mark.parametrize("text", ["import a from 'b';", "\x47@\x11\x10\0", ""])
def test_programs_and_films_with_this_suffix_are_refused_or_left_out(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1: not XML"):
        read(text)
    (tmp_path / "a.ts").write_text(text)
    (tmp_path / "b.ts").write_text(file(ONE))
    tasks = tasks_of([tmp_path], tmp_path / "out")
    assert [one.source.name for one in tasks] == ["b.ts"]
    assert [one.name for one in left_out_of([tmp_path], tasks, None)] == ["a.ts"]


@pytest.mark.slow
def test_lrelease_reads_what_was_written(tmp_path: Path) -> None:
    """`lrelease` of Qt counts finished and unfinished messages, and `lconvert` writes the same texts."""
    tools = "/usr/lib/qt6/bin:/usr/lib/qt5/bin:/usr/bin"
    lrelease, lconvert = shutil.which("lrelease", path=tools), shutil.which("lconvert", path=tools)
    if not lrelease or not lconvert:
        pytest.skip("Qt's tools are not installed")
    text = file(
        ONE,
        NUMERUS,
        ONE.replace("One boat", "A &quot;b&quot;\nc &lt;"),
        head='<TS version="2.1" language="pl">',
    )
    new = translate(text, "Łódź", "%n plik", "%n pliki", "%n plików", "'x' \"y\"\n<b> & z\x07", target="pl")
    path, back = tmp_path / "a.ts", tmp_path / "b.ts"
    path.write_text(new, encoding="utf-8")
    said = subprocess.run([lrelease, path], capture_output=True, text=True, check=True).stdout
    assert "Generated 3 translation(s) (3 finished and 0 unfinished)" in said
    subprocess.run([lconvert, "-i", tmp_path / "a.qm", "-o", back], check=True)
    ours, theirs = etree.parse(path), etree.parse(back)

    def texts(tree: object) -> set[str]:
        found = cast("etree._ElementTree", tree).iter("translation", "numerusform")
        return {
            etree.tostring(one, with_tail=False, encoding="unicode")
            for one in found
            if not len(one) or one[0].tag == "byte"
        }

    assert {one.replace(' type="unfinished"', "") for one in texts(ours)} == texts(theirs)


def test_messages_below_the_root_stand_in_order() -> None:
    message = "<message><source>{}</source><translation/></message>\n"
    text = f"<TS>\n<context>\n{message.format('One')}</context>\n{message.format('Two')}</TS>"
    assert [one.where for one in read(text).segments] == ["line 3", "line 5"]
