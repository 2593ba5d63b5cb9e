from __future__ import annotations

from typing import cast
from xml.sax.saxutils import escape

from hypothesis import strategies as st
from translate.storage.resx import RESXFile

from dragoman.documents.edits import PartsDocument
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Result, text_of
from dragoman.documents.strings.resx import parse

FILES = st.lists(st.tuples(st.text("ab.$>", max_size=4), st.text("ab Z&<>\"'{0}\n", max_size=9))).map(
    lambda pairs: (
        "<root>"
        + "".join(
            f"<data name={escape(key)!r} xml:space='preserve'>\n<value>{escape(value)}</value></data>"
            for key, value in pairs
        )
        + "</root>"
    )
)


def read(text: str) -> PartsDocument:
    return parse(text.encode(), Languages("en", "de"))


def keys(text: str) -> list[str]:
    return [one.context for one in read(text).segments]


def entry(name: str, value: str, more: str = "", comment: str = "") -> str:
    return f'<data name="{name}" xml:space="preserve"{more}>\n<value>{value}</value>{comment}\n</data>\n'


def seen(text: str) -> dict[str, str]:
    """What the Translate Toolkit reads."""
    units = RESXFile.parsestring(text.encode()).units
    return {cast(str, one.getid()): cast(str, one.target) for one in units}


def test_values_are_written_and_all_else_stays() -> None:
    text = "<root>\n" + entry("A", "One &lt;b&gt; &amp; {0}", comment="<comment>Sign.</comment>") + "</root>"
    document = read(text)
    [one] = document.segments
    assert (text_of(one.source), one.note, one.where) == ("One <b> & {0}", "Sign.", "line 2")
    new = document.render([Result(("Ein <b> & {0}\nmehr",))]).decode()
    assert new == text.replace("One &lt;b&gt; &amp; {0}", "Ein &lt;b&gt; &amp; {0}\nmehr")
    assert seen(new) == {"A": "Ein <b> & {0}\nmehr"}


def test_other_types_empty_and_locked_strings_stay() -> None:
    text = (
        entry("size", "1, 2", ' type="System.Drawing.Size, System.Drawing"')
        + entry("icon", "AAEC", ' mimetype="application/x-microsoft.net.object.bytearray.base64"')
        + entry("text", "Some text", ' type="System.String, mscorlib"')
        + entry("empty", "")
        + '<data name="none"/><data name="lone"><value/></data>'
        + entry("brand", "Dragoman", comment="<comment>{Locked} the name</comment>")
        + '<resheader name="a"><value>b</value></resheader><metadata name="m"><value>On</value></metadata>'
    )
    assert keys(f"<root>{text}</root>") == ["text"]


def test_of_a_form_only_what_is_shown_is_translated() -> None:
    names = [
        "ok.Text",
        "ok.ToolTip",
        "$this.Text",
        "$this.Icon",
        ">>ok.Name",
        "ok.ImeMode",
        "grid.HeaderText",
    ]
    form = "".join(entry(name, "Some text") for name in names)
    assert keys(f"<root>{form}</root>") == ["ok.Text", "ok.ToolTip", "$this.Text", "grid.HeaderText"]
    plain = entry("Errors.NotFound", "Some text")  # a dot in a file of strings divides words
    assert keys(f"<root>{plain}</root>") == ["Errors.NotFound"]


def test_cdata_stays_cdata() -> None:
    text = f"<root>{entry('a', '<![CDATA[One <b>]]>')}</root>"
    new = read(text).render([Result(("Ein ]]> <i>",))]).decode()
    assert "<![CDATA[Ein ]]]]><![CDATA[> <i>]]>" in new
    assert seen(new) == {"a": "Ein ]]> <i>"}
