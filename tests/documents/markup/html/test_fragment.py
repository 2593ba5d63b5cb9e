"""Pieces of XML: what is a segment, what survives, and what malformed ones become."""

from __future__ import annotations

import random
import re
import time
from itertools import product
from xml.etree import ElementTree

import pytest

from dragoman.documents.flat import parts, with_found
from dragoman.documents.markup.html.fragment import XmlFragment
from dragoman.documents.segment import Code, text_of
from dragoman.documents.translate import translate_document
from tests.documents.pretend import Pretend

TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def translated(text: str, *, ignored: str = "", pieces: int = 0, backwards: bool = False) -> str:
    fragment = XmlFragment(text, ignored=frozenset(ignored.split()), stand_ins=bool(pieces))
    translator = Pretend(str.upper, backwards=backwards, pieces=pieces)
    return translate_document(translator, fragment)[0].decode()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a dog", "A DOG"),
        ("a <b>red</b> dog", "A <b>RED</b> DOG"),
        ("<b>a dog</b>", "<b>A DOG</b>"),
        ('a <x id="7"></x> dog', 'A <x id="7"></x> DOG'),
        ('<x id="7"></x> dog <x id="8"/>', '<x id="7"></x> DOG <x id="8"/>'),
        ("<a>one</a><b>two</b>", "<a>ONE</a><b>TWO</b>"),
        ("cats &amp; dogs &lt;3", "CATS &amp; DOGS &lt;3"),
        ("caf&eacute; &#233; &unknown; dog", "CAFÉ É &amp;unknown; DOG"),
        ("one\n\n\ttwo  three\n", "ONE\n\n\tTWO  THREE\n"),
        ("a <!-- no --> dog", "A <!-- no --> DOG"),
        ("see <![CDATA[a<b]]> dog", "SEE <![CDATA[a<b]]> DOG"),
        ('<?xml version="1.0"?>\n<p>a dog</p>', '<?xml version="1.0"?>\n<p>A DOG</p>'),
        ('<p title="a dog">a <Dog/> b</p>', '<p title="a dog">A <Dog/> B</p>'),
    ],
)
def test_words_are_translated_and_the_rest_stays(text: str, expected: str) -> None:
    assert translated(text) == expected


def test_tags_follow_their_words() -> None:
    assert translated("a <b>red</b> dog", backwards=True) == "DOG <b>RED</b> A"
    assert translated('see <x id="7"></x> dogs', backwards=True, pieces=3) == 'DOGS <x id="7"></x> SEE'


@pytest.mark.parametrize("pieces", [0, 3])
def test_ignored_elements_stay(pieces: int) -> None:
    text = "run <code>git <b>add</b> &amp;</code> and <x>{name}</x> then <CODE>stop</CODE>"
    expected = "RUN <code>git <b>add</b> &amp;</code> AND <x>{name}</x> THEN <CODE>stop</CODE>"

    assert translated(text, ignored="code x", pieces=pieces) == expected


def test_elements_in_one_without_text_are_segments_of_their_own() -> None:
    fragment = XmlFragment("<doc><t>First</t> <p>Second <b>one</b>.</p><p>Third</p></doc>")

    texts = ["".join(part for part in one.source if isinstance(part, str)) for one in fragment.segments]
    assert texts == ["First", "Second one.", "Third"]


def test_no_sentence_goes_beyond_a_break_or_a_paragraph() -> None:
    text = "Intro<p>A <b>dog</b> runs.<br/>A man<BR></BR>sits.</p>Outro <i>and</i> end<hr/>"
    found = [part for one in XmlFragment(text).segments for part in parts(with_found(one.source))]

    texts = [text_of(part) for part in found if isinstance(part, tuple)]
    assert texts == ["Intro", "A dog runs.", "A man", "sits.", "Outro and end"]
    assert translated("one<br/>two") == "ONE<br/>TWO"


@pytest.mark.parametrize("between", ["<br/>", "<p>or</p>", "<br></br>", "<ul><li>x</li></ul>"])
@pytest.mark.parametrize("pieces", [0, 3])
def test_elements_around_a_break_stay_nested(between: str, pieces: int) -> None:
    for behind, backwards in product(("and</i> the cat</b> sleeps.", "</i></b> Sleeps."), (False, True)):
        text = f"<d>The dog has <b>seen <i>the red house{between}{behind}</d>"
        new = translated(text, backwards=backwards, pieces=pieces)
        ElementTree.fromstring(new)
        assert sorted(TAG.findall(new)) == sorted(TAG.findall(text))


def test_with_stand_ins_an_empty_element_has_a_place() -> None:
    def kinds(**options: bool) -> list[str]:
        fragment = XmlFragment('a <x id="1"></x> b <y/> c', **options)
        return [one.kind for one in fragment.segments[0].source if isinstance(one, Code)]

    assert kinds() == ["empty", "empty"]
    assert kinds(stand_ins=True) == ["placeholder", "placeholder"]


MALFORMED = [
    "<b>one",
    "one</b>",
    "<b>one <i>two</b> three</i>",
    "a < b and c > d & e",
    "one <b",
    'one <b a="',
    "one <!-- two",
    "one <![CDATA[ two",
    "<><//></ >< b>one",
    "&#99999999; &; one",
    "one ]]> two",
    "</a></a>one<a>",
]


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_text_comes_back_with_its_tags(text: str) -> None:
    assert sorted(TAG.findall(translated(text).lower())) == sorted(TAG.findall(text.lower()))


@pytest.mark.thorough
def test_no_tag_is_lost_whatever_comes() -> None:
    parts = [
        "<b>",
        "</b>",
        '<x id="1"/>',
        "<i>",
        "</i>",
        "red ",
        "dog",
        " ",
        "\n",
        "&amp;",
        "<code>",
        "</code>",
    ]
    for seed in range(300):
        draw = random.Random(seed)
        text = "".join(draw.choice(parts) for _ in range(draw.randrange(25)))
        new = translated(text, ignored="code" if seed % 2 else "", backwards=True, pieces=seed % 3)
        assert sorted(TAG.findall(new)) == sorted(TAG.findall(text)), text


@pytest.mark.thorough
@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    [
        "<b>" * 8000 + "hello" + "</b>" * 5000,
        "a <b>b " * 3000,
        "<" * 30000,
        "</b>" * 8000 + "x",
        "<!--" * 9000,
        "a <b>b" + "<p>c</p>" * 3000,
    ],
    ids=["deep", "open", "less", "closed", "comments", "paragraphs"],
)
def test_hostile_text_takes_no_time(text: str) -> None:
    begun = time.process_time()
    new = translated(text)

    assert time.process_time() - begun < 10
    assert TAG.findall(new) == TAG.findall(text)
