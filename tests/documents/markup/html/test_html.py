from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import cast

import pytest
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.segment import Code, Result
from dragoman.documents.translate import translate_document
from dragoman.translation.translator import Translator
from tests.documents.files import parse, shown, sources, translated, with_results
from tests.documents.pretend import Pretend


class Tags(HTMLParser):
    """The tags of a file with their attributes as another program reads them, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(f"<{tag} {attrs}>")

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.text += data


def test_blocks_delimit_segments_and_inline_elements_are_codes():
    text = "<h1>The harbour</h1><p>A <b>big</b> boat,<br>and <i>two</i> nets.</p>"
    assert sources("html", text) == ["The harbour", "A ⟨<b>⟩big⟨</b>⟩ boat,⟨<br>⟩and ⟨<i>⟩two⟨</i>⟩ nets."]
    codes = parse("html", text).segments[1].source
    assert [(one.kind, one.pair, one.breaks) for one in codes[1::2]] == [  # type: ignore[union-attr]
        ("open", 1, False),
        ("close", 1, False),
        ("empty", 0, True),
        ("open", 2, False),
        ("close", 2, False),
    ]
    assert translated("html", text) == "<h1>THE HARBOUR</h1><p>A <b>BIG</b> BOAT,<br>AND <i>TWO</i> NETS.</p>"


def test_what_encloses_a_segment_stays_outside():
    text = "<p>\n <b><a href=x>All of it</a></b> <img src=y> <!-- why --></p>"
    assert sources("html", text) == ["All of it"]
    assert translated("html", text) == text.replace("All of it", "ALL OF IT")


def test_links_and_buttons_without_a_sentence_around_them_are_segments_of_their_own():
    text = (
        "<nav>\n<a href=1>A dog</a><a href=2>A <b>cat</b></a>\n <b><a href=3>Both</a></b></nav>"
        "<div><button>Save</button> <button><i>Cancel</i></button><!-- end --></div>"
        "<form><label>Name</label><input><label>Age</label></form>"
    )
    assert sources("html", text) == [
        "A dog", "A ⟨<b>⟩cat⟨</b>⟩", "Both", "Save", "Cancel", "Name", "Age",
    ]  # fmt: skip
    assert translated("html", text) == re.sub(r">[\w ]+<", lambda found: found[0].upper(), text)
    assert sources("html", "<p>See <a>this</a> <a>one</a>.") == ["See ⟨<a>⟩this⟨</a>⟩ ⟨<a>⟩one⟨</a>⟩."]
    assert sources("html", "<p><a>this</a>, <a>one</a>") == ["⟨<a>⟩this⟨</a>⟩, ⟨<a>⟩one⟨</a>⟩"]
    assert sources("html", "<p><b><a>only one</a></b> <i>") == ["only one"]
    assert len(sources("html", "<label>I agree to the</label> <a>Terms</a>")) == 1
    assert len(sources("html", "<a>The cat</a> <a>sleeps</a>")) == 1
    assert len(sources("html", "<a>The <b>red</b> house</a>" * 101)) == 101


@pytest.mark.parametrize(
    "mark",
    [
        "<sup>12</sup>",
        '<a epub:type="noteref" href="#n">1</a>',
        '<a href="#n"><sup>[3]</sup></a>',
        "<sup>*</sup>",
    ],
)
def test_the_mark_of_a_footnote_is_no_part_of_a_word(mark: str) -> None:
    assert sources("html", f"<p>A boat{mark} here.{mark} <b>A net</b>{mark}.") == [
        f"A boat⟨{mark}⟩ here.⟨{mark}⟩ ⟨<b>⟩A net⟨</b>⟩⟨{mark}⟩."
    ]
    translator = cast("Translator", Pretend(str.upper, backwards=True))
    new, *_ = translate_document(translator, parse("html", f"<p>A <b>boat</b>{mark}."))
    assert new.decode() == f"<p><b>BOAT</b>{mark}. A"
    for text in ("<p>See <a>12</a> of it", "<p><a>12</a> boats", "<p>A<sup>th</sup>", "<p>a<a>1 boat</a>"):
        (segment,) = parse("html", text).segments
        assert "empty" not in [one.kind for one in segment.source if isinstance(one, Code)]


def test_end_tags_may_be_missing_and_tags_wrongly_nested():
    text = "<ul><li>One <b>two<li>Three</i> four</ul><p>Five <b>six <i>seven</b> eight</i><p>Nine"
    assert sources("html", text) == [
        "One ⟨<b>⟩two",
        "Three⟨</i>⟩ four",
        "Five ⟨<b>⟩six ⟨<i>⟩seven⟨</b>⟩ eight",
        "Nine",
    ]
    assert Tags(translated("html", text)).tags == Tags(text).tags


def test_inline_elements_with_blocks():
    text = "<a href=x>Read <div>this <b>now</b></div> today</a> or <em>never</em>"
    assert sources("html", text) == ["Read", "this ⟨<b>⟩now⟨</b>⟩", "today⟨</a>⟩ or ⟨<em>⟩never⟨</em>⟩"]


@pytest.mark.parametrize(
    "kept",
    [
        "<pre>Some text</pre>",
        "<script>if (a < b) '<p>no</p>'</script>",
        "<script><!-- <script>a</script> no --></script>",
        "<style>p::after { content: 'no' }</style>",
        "<textarea><p>no</p></textarea>",
        "<svg><title>no</title><text>no</text></svg>",
        "<math><mi>no</mi></math>",
        "<!-- no <p>no</p> -->",
        "<!doctype html>",
        "<?php echo '<p>no</p>' ?>",
        "<code>no</code>",
        "<div translate=no>no <p title=no>no</div>",
        "<div class='a notranslate'>no</div>",
        "<p lang='fr'>non</p>",
        "<p xml:lang='ja-JP'>no</p>",
        "<p lang='fr'>non <b lang='en'>no</b></p>",
    ],
)
def test_what_is_not_language_stays(kept: str):
    text = f"<p>Before</p>{kept}<p>After</p>"
    assert sources("html", text) == ["Before", "After"]
    assert translated("html", text) == f"<p>BEFORE</p>{kept}<p>AFTER</p>"


def test_code_in_a_sentence_is_one_placeholder():
    text = "<p>Press <kbd><b>Ctrl</b>+C</kbd> or <span translate=no>Esc</span> now</p>"
    assert sources("html", text) == [
        "Press ⟨<kbd><b>Ctrl</b>+C</kbd>⟩ or ⟨<span translate=no>Esc</span>⟩ now"
    ]
    kinds = [getattr(one, "kind", "") for one in parse("html", text).segments[0].source]
    assert kinds == ["", "placeholder", "", "placeholder", ""]


def test_translate_yes_inside_of_no():
    text = "<div translate=no>Brand <p translate=yes title=Hint>Words</p> Brand</div><p>Text"
    assert sources("html", text) == ["Hint", "Words", "Text"]


def test_an_unclosed_element_that_stays_ends_with_its_block():
    assert sources("html", "<ul><li translate=no>Brand<li>Words <code>x</ul><p>Text") == [
        "Words ⟨<code>x⟩",
        "Text",
    ]


def test_attributes_are_segments():
    text = (
        "<html><head><title>A &amp; B</title><meta name=description content='The site'>"
        "<meta name=viewport content='width=device'></head><body title=\"Hi\"><img alt='A map' src=a>"
        "<input type=submit value=Go><input type=text value=no placeholder=Name><option label=First>"
    )
    assert sources("html", text) == ["A & B", "The site", "Hi", "A map", "Go", "Name", "First"]
    new = translated("html", text, lambda one: one + ' "x"')
    assert "<meta name=description content='The site \"x\"'>" in new
    assert 'value="Go &quot;x&quot;"' in new


def test_an_attribute_in_a_changed_sentence():
    text = '<p>See <img alt="Map" src=a> and <img alt="Map" src=a> here</p>'
    source = parse("html", text).segments[0].source
    new = with_results("html", text, (source[1], " oder ", source[3]), ("Karte",), ("Plan",))
    assert new == '<p><img alt="Karte" src=a> oder <img alt="Plan" src=a></p>'
    assert with_results("html", text, None, ("Karte",)) == text.replace("Map", "Karte", 1)
    assert '"Map"' in with_results("html", text, source[:2])


def test_white_space_is_what_a_browser_shows():
    text = "<p>\n  One\n  <b> two </b>\n three&nbsp;  <img> four </p>"
    assert sources("html", text) == ["One ⟨<b>⟩two ⟨</b>⟩three\u00a0 ⟨<img>⟩ four"]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("AT&T &amp &copy;2 &#8211; &notit; a < b <3", "AT&T & ©2 – ¬it; a < b <3"),
        ("R&D &lt;b&gt;", "R&D <b>"),
    ],
)
def test_references(raw: str, text: str):
    assert sources("html", f"<p>{raw}</p>") == [text]
    new = with_results("html", f"<p>{raw}</p>", (f"Neu {text}",))
    assert Tags(new).text == f"Neu {text}"
    assert Tags(new).tags == ["<p []>", "</p>"]


def test_references_in_attributes():
    text = "<p title='a&copy=1 &copyb &copy; &lt;'>"
    assert sources("html", text) == ["a&copy=1 &copyb © <"]


def test_text_is_escaped_only_where_it_would_be_markup():
    new = with_results("html", "<p>One&nbsp;two</p>", ("a & b < c\u00a0&lt; </p> &copy <3 €",))
    assert new == "<p>a & b < c&nbsp;&amp;lt; &lt;/p> &amp;copy <3 €</p>"
    assert "a\u00a0b" in with_results("html", "<p>One</p>", ("a\u00a0b",))
    xml = '<?xml version="1.0"?><p title="x">One</p>'
    assert with_results("html", xml, ("y < & z",), ("a & b < c ]]>",)) == (
        '<?xml version="1.0"?><p title="y &lt; &amp; z">a &amp; b &lt; c ]]&gt;</p>'
    )


def test_xhtml_elements_may_close_themselves():
    text = '<?xml version="1.0"?><html><p>One <code/> two</p><script src="a"/><p>Three</p></html>'
    assert sources("html", text) == ["One ⟨<code/>⟩ two", "Three"]
    assert sources("html", "<div>One <code/> two</div><p>Three") == ["One ⟨<code/> two⟩", "Three"]


def test_tags_in_upper_case_and_odd_attributes():
    text = "<P CLASS=a/b>One <A HREF=x?a=1&b TITLE = 'T' =y z>two</A><BR/>three</P >"
    assert sources("html", text) == [
        "One ⟨<A HREF=x?a=1&b TITLE = 'T' =y z>⟩two⟨</A>⟩⟨<BR/>⟩three",
        "T",
    ]


def test_templates_in_tags():
    text = '<p {% if a > b %}class="{% url "x" %}"{% endif %}>One</p><a href=<?= $x > 1 ?> >two</a>'
    assert sources("html", text) == ["One", "two"]


def test_the_language_of_the_file():
    text = '<html lang="en-US" xml:lang=en><p lang=en>One'
    assert translated("html", text) == '<html lang="de" xml:lang=de><p lang=de>ONE'
    inline = (
        '<body lang="fr"><p lang="en">A <i lang="en">dog</i> <b lang="it">ciao</b> <code lang="en">x</code>'
    )
    kept = '<br lang="en" translate="no"><p translate="no" lang="en">No <i lang="en">dog</i></p>'
    assert translated("html", inline + kept) == (
        '<body lang="fr"><p lang="de">A <i lang="de">DOG</i> <b lang="it">ciao</b> <code lang="en">x</code>'
        + kept
    )
    assert translated("html", '<p lang="jp">One<p lang="{l}">Two') == '<p lang="jp">ONE<p lang="{l}">TWO'
    assert translated("html", '<html lang="fr"><p>One') == '<html lang="fr"><p>ONE'


def test_encodings():
    latin = "<meta charset=iso-8859-1><p>Größe</p>".encode("latin-1")
    assert sources("html", latin) == ["Größe"]
    new = parse("html", latin).render([Result(("水 €",))])
    assert new == "<meta charset=iso-8859-1><p>&#27700; €</p>".encode("cp1252")
    declared = '<?xml version="1.0" encoding="koi8-r"?><p>Море</p>'.encode("koi8-r")
    assert sources("html", declared) == ["Море"]
    assert with_results("html", "<html><p>One", ("水",)) == "<html><p>&#27700;"  # what no browser misreads
    assert with_results("html", "<p>One", ("水",)) == "<p>水"
    assert sources("html", "<p>Море</p>".encode("utf-16")) == ["Море"]
    for encoding in ("utf-16-le", "utf-16-be"):
        text = "<html><meta charset=utf-16><p>One</p>".encode(encoding)
        assert parse("html", text).render([Result(("Море",))]) == text.replace(
            "One".encode(encoding), "Море".encode(encoding)
        )
    with pytest.raises(DataError, match="line 1: a NUL"):
        parse("html", "\n One".encode("utf-16-be"))


def test_segments_name_their_lines_in_order():
    found = parse("html", "<p>One\n<p title=Two>three\n").segments
    assert [(one.where, shown(one.source)) for one in found] == [
        ("line 1", "One"),
        ("line 2", "Two"),
        ("line 2", "three"),
    ]


HOSTILE = (
    "<b>" * 20000 + "x" + "</i>" * 20000,
    "<ul>" + "<b>" * 5000 + "<li>x" * 5000,
    "<" * 50000,
    "<!--" * 20000,
    "<a b='" * 20000,
    "<code>x" * 20000,
    "<p {% " * 20000,
    "<? " * 20000,
    "<svg><p>" * 20000,
    "&" * 50000,
)


MARKS = (
    "<p> </p> <b> </b> <i> </i> <div> </div> <br> <li> <code> </code> <pre> </pre> <script> </script>"
    " <!-- --> <svg> </svg> </span> <td> <title> </title> <![CDATA[ ]]> < > & &amp; &nbsp; <% %> word 水"
)
PIECES = st.sampled_from(
    [*MARKS.split(), "<img alt='A map'>", "<p translate=no>", "<span class=notranslate>", "{{ x }}"]
)
FILES = st.lists(PIECES | st.sampled_from([" ", "\n", "\r\n", "a"]), max_size=30).map("".join)


def test_a_closed_tag_of_xhtml_pairs_with_no_end() -> None:
    text = 'A <span class="b"><span id="5"/>house</span> here'
    [segment] = parse("html", f'<?xml version="1.0"?><html><body><p>{text}</p></body></html>').segments

    codes = [one for one in segment.source if isinstance(one, Code)]
    assert [(one.text, one.kind) for one in codes] == [
        ('<span class="b">', "open"), ('<span id="5"/>', "empty"), ("</span>", "close"),
    ]  # fmt: skip


def test_a_paragraph_ends_a_drawing_that_is_not_closed() -> None:
    assert sources("html", "<div><p>Intro words<svg><title>T</title><p>Other words</p></div>") == [
        "Intro words",
        "Other words",
    ]
    assert sources("html", "<p>a <math><mi>x</mi><p>second words</p>")[-1] == "second words"


def test_a_title_within_a_drawing_ends_no_paragraph() -> None:
    drawing = "<svg><title>Save</title><g><text>no</text></g></svg>"
    assert sources("html", f"<p><b>Press {drawing} now</b> to go on</p>") == [
        f"⟨<b>⟩Press ⟨{drawing}⟩ now⟨</b>⟩ to go on"
    ]
