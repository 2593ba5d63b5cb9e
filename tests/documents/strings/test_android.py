from __future__ import annotations

import re
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.edits import PartsDocument
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Code, Content, Result, text_of
from dragoman.documents.strings.android import parse

FILE = """<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <!-- Ships -->

    <!-- Shown
         at night. -->
    <string name="leaves">The <b>ship</b> leaves\\n at <xliff:g id="t" example="10">%1$s</xliff:g></string>
    <string name="app" translatable="false">Harbour</string>
    <string name="alias">@string/leaves</string>
    <string name="empty"/>
    <color name="c">#fff</color>
    <string name="it">It\\'s\u0020
        "  &lt;open>"<br/>\\u00fc</string>
    <plurals name="ships">
        <item quantity="one">One ship</item>
        <!-- many -->
        <item quantity="other">%d ships</item>
    </plurals>
    <string-array name="days">
        <item>Monday</item>
        <item>@null</item>
        <item>Tuesday</item>
    </string-array>
</resources>
"""


def read(text: str, target: str = "de") -> PartsDocument:
    return parse(text.encode(), Languages("en", target))


def string(inner: str) -> str:
    return f'<resources><string name="a">{inner}</string></resources>'


def translate(text: str, *translations: Content | str | None, target: str = "de") -> str:
    contents = [(one,) if isinstance(one, str) else one for one in translations]
    return read(text, target).render([Result(one) if one is not None else None for one in contents]).decode()


def test_strings_are_segments() -> None:
    assert [(one.context, text_of(one.source), one.where, one.note) for one in read(FILE).segments] == [
        (
            "leaves",
            'The ship leaves\n at <xliff:g id="t" example="10">%1$s</xliff:g>',
            "line 7",
            "Shown at night.",
        ),
        ("it", "It's   <open>ü", "line 12", ""),
        ("ships[one]", "One ship", "line 15", ""),
        ("ships[other]", "%d ships", "line 17", ""),
        ("days[0]", "Monday", "line 20", ""),
        ("days[2]", "Tuesday", "line 22", ""),
    ]


def test_inline_elements_are_codes() -> None:
    leaves, opened, *_ = read(FILE).segments
    placeholder = Code('<xliff:g id="t" example="10">%1$s</xliff:g>', "placeholder")
    bold = (Code("<b>", "open", 1), "ship", Code("</b>", "close", 1))
    assert leaves.source == ("The ", *bold, " leaves\n at ", placeholder)
    assert opened.source == ("It's   <open>", Code("<br/>", "empty", breaks=True), "ü")

    new = translate(FILE, ("Um ", placeholder, " geht's <los>"), *[None] * 5)
    assert new == FILE.replace(
        'The <b>ship</b> leaves\\n at <xliff:g id="t" example="10">%1$s</xliff:g>',
        "Um " + placeholder.text + " geht\\'s &lt;los&gt;",
    )
    nested = string('a <i>b <b>c</b></i> d<!-- e --> <a href="x  y">f</a>')
    assert [one.pair for one in read(nested).segments[0].source if isinstance(one, Code)] == [
        1,
        2,
        2,
        1,
        0,
        3,
        3,
    ]


@pytest.mark.parametrize(
    ("inner", "text", "written"),
    [
        ("a", "\\'\"\n\t@ü", "\\\\\\'\\\"\\n\\t@ü"),
        ("a", "@here", "\\@here"),
        ("a", "?", "\\?"),
        ("a", " b  c ", "\\u0020b \\u0020c\\u0020"),
        ("\n  a\n  ", "b", "\n  b\n  "),
        ('"a\'s"', 'b\'s  "c" ', '"b\'s  \\"c\\" "'),
        ('"a" "b"', "c's", "c\\'s"),
        ("a", "\x01\uffff<&>", "\\u0001\\uffff&lt;&amp;&gt;"),
        ("<![CDATA[a]]>", "<p>b's]]></p>", "<![CDATA[<p>b\\'s]]]]><![CDATA[></p>]]>"),
        (" <![CDATA[a]]> b", "<b", " &lt;b"),
    ],
)
def test_texts_are_escaped(inner: str, text: str, written: str) -> None:
    new = translate(string(inner), text)
    assert new == string(written)
    assert text_of(read(new).segments[0].source) == text


HTML = (
    r"""<![CDATA[<p>See <a href="https://a.b/c" title='A dog'>the \"old\" dog</a>.</p><br/><p class="x">"""
    r"""Two &amp; more<img src=\"d.png\" alt=\"A brown dog\"/>, a \'title=\'.</p><hr/ …>]]>"""
)


def test_cdata_is_html() -> None:
    segments = read(string(HTML)).segments
    assert [text_of(one.source) for one in segments] == [
        "See the \"old\" dog.Two &amp; more, a 'title='.",
        "A dog",
        "A brown dog",
    ]
    codes = [(one.text, one.kind, one.pair) for one in segments[0].source if isinstance(one, Code)]
    assert codes == [
        ("<p>", "open", 1),
        ("""<a href="https://a.b/c" title='A dog'>""", "open", 2),
        ("</a>", "close", 2),
        ("</p>", "close", 1),
        ("<br/>", "empty", 0),
        ('<p class="x">', "open", 3),
        (r"<img src=\"d.png\" alt=\"A brown dog\"/>", "empty", 0),
        ("</p>", "close", 3),
        ("<hr/ …>", "empty", 0),
    ]
    assert [one.text for one in segments[0].source if isinstance(one, Code) and one.breaks] == [
        *("<p>", "</p>", "<br/>", '<p class="x">', "</p>"),
    ]


def test_attributes_in_cdata_are_translated() -> None:
    text = string(HTML)
    assert translate(text, None, None, None) == text
    source = read(text).segments[0].source
    assert translate(text, source, "A dog", "A brown dog") == text
    new = translate(text, None, 'Anna\'s "<Hund>" & Co', None)
    assert new == text.replace("A dog", r"Anna&#39;s &quot;&lt;Hund&gt;&quot; &amp; Co")
    assert [text_of(one.source) for one in read(new).segments][1:] == ['Anna\'s "<Hund>" & Co', "A brown dog"]
    upper = tuple(one if isinstance(one, Code) else one.upper() for one in source)
    assert translate(text, upper, "Ein Hund", "Ein brauner Hund") == (
        text.replace("A dog", "Ein Hund")
        .replace("A brown dog", "Ein brauner Hund")
        .replace("See ", "SEE ")
        .replace('the \\"old\\" dog', 'THE \\"OLD\\" DOG')
        .replace("Two &amp; more", "TWO &AMP; MORE")
        .replace(r", a \'title=\'", r", A \'TITLE=\'")
    )
    both = string('<![CDATA[<img alt="One" title="Two, or three"/><img alt="One" title="Two, or three"/>]]>')
    assert translate(both, None, "Eins", "Zwei") == both.replace("One", "Eins").replace(
        "Two, or three", "Zwei"
    )


def test_spaces_around_codes() -> None:
    bold, end = Code("<b>", "open", 1), Code("</b>", "close", 1)
    new = translate(string("a"), (bold, " x ", end, " y"))
    assert new == string("<b>\\u0020x </b>\\u0020y")
    assert read(new).segments[0].source == (bold, " x ", end, " y")


def test_spaces_after_placeholders_are_kept() -> None:
    group = '<g xmlns="urn:oasis:names:tc:xliff:document:1.2">%s</g>'
    file = string(f"a {group} b")
    assert read(file).segments[0].source == ("a ", Code(group, "placeholder"), " b")
    assert translate(file, (Code(group, "placeholder"), " b")) == string(f"{group} b")


def test_the_file_names_its_new_language() -> None:
    text = '<resources xmlns:tools="t" tools:locale="{}"><string name="a">A ship</string></resources>'
    assert translate(text.format("en-US"), "Ein Schiff") == text.format("de").replace("A ship", "Ein Schiff")
    assert 'tools:locale="fr"' in translate(text.format("fr"), "Ein Schiff")
    assert translate(text.format("en"), None) == text.format("en")


def test_plurals_get_the_items_of_the_language() -> None:
    segments = read(FILE, "pl").segments
    assert [one.context for one in segments][2:6] == [
        "ships[one]",
        "ships[few]",
        "ships[many]",
        "ships[other]",
    ]
    assert segments[3].source == ("%d ships",)

    new = translate(FILE, None, None, None, "%d statki", "%d statków", None, None, None, target="pl")
    assert new == FILE.replace(
        '<item quantity="other">',
        '<item quantity="few">%d statki</item>\n        <item quantity="many">%d statków</item>\n'
        '        <item quantity="other">',
    )
    assert translate(FILE, *[one.source for one in segments], target="pl") == FILE


def test_an_item_is_added_after_a_comment() -> None:
    file = '<resources><plurals name="a"><!-- b --><item quantity="other">c</item></plurals></resources>'
    assert translate(file, "d", "e") == file.replace(
        '<item quantity="other">c', '<item quantity="one">d</item><item quantity="other">e'
    )


@pytest.mark.parametrize("inner", ["@string/x", "@android:string/ok", "?attr/x", "@null", "", "  "])
def test_references_are_no_segments(inner: str) -> None:
    assert read(string(inner)).segments == []


def test_words_after_a_sign_are_segments() -> None:
    assert len(read(string("@home again")).segments) == 1
    assert read(string("a <xliff:g xmlns:xliff='urn:oasis:names:tc:xliff:document:1.2'/>")).segments


def as_android_reads(raw: str) -> str:
    """Read the text of a string as the guide "String resources" says, on its own."""
    text, quoted, place = "", False, 0
    while place < len(raw):
        char = raw[place]
        place += 1
        if char == "\\":
            char, place = raw[place], place + 1
            if char == "u":
                char, place = chr(int(raw[place : place + 4], 16)), place + 4
            text += {"n": "\n", "t": "\t", " ": "\0"}.get(char, char).replace(" ", "\0")
        elif char == '"':
            quoted = not quoted
        else:
            text += char.replace(" ", "\0") if quoted else " " if char in " \t\n" else char
    return re.sub(" +", " ", text).strip(" ").replace("\0", " ")


@given(
    st.lists(
        st.text(
            st.characters(exclude_categories=["Cs"], exclude_characters="\0")
            | st.sampled_from(" '\"\\@?<&]>")
        ),
        min_size=1,
    ),
    st.sampled_from(["old", '"old"', "<![CDATA[old]]>"]),
)
def test_android_reads_what_is_written(texts: list[str], inner: str) -> None:
    strings = "\n".join(f'  <string name="a{number}">{inner}</string>' for number in range(len(texts)))
    file = f"<resources>\n{strings}\n</resources>"
    new = read(file).render([Result((text,)) for text in texts]).decode()
    written = [one.text or "" for one in ElementTree.fromstring(new)]
    assert [as_android_reads(one) for one in written] == texts


FILES = st.builds(
    lambda texts, pretty: "<resources>{}</resources>".format(
        "\r\n".join(
            f"<string name='a'>{' ' * pretty}{escape(text)}<b>{escape(text)}</b></string>" for text in texts
        )
    ).encode(),
    st.lists(st.text(st.sampled_from("ab \n'\"@?<&]>"), max_size=15), max_size=4),
    st.booleans(),
)


def test_two_halves_are_one_character() -> None:
    assert text_of(read(string(r"A dog \ud83d\ude00")).segments[0].source) == "A dog \U0001f600"


def test_plural_forms_are_added_even_if_they_stay_as_they_are() -> None:
    item = '<item quantity="one">1 km</item><item quantity="other">%d km</item>'
    file = f'<resources><string name="a">dog</string><plurals name="b">{item}</plurals></resources>'
    sources = [one.source for one in read(file, "ru").segments]

    assert translate(file, *sources, target="ru") == file
    assert translate(file, "Hund", *sources[1:], target="ru").count("%d km") == 3
