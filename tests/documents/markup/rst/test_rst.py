from __future__ import annotations

import io
import time

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.documents.markup.rst.blocks import RstBlocks
from dragoman.documents.markup.rst.rst import Rst
from dragoman.documents.segment import Code, Content, Result
from tests.documents.files import comes_back, parse, sources, translated, with_results


def tree(text: str) -> tuple[list[str], int]:
    """The nodes of a file as docutils reads it, but for added targets, and the number of warnings."""
    settings = {
        "report_level": 5, "halt_level": 5, "warning_stream": io.StringIO(), "file_insertion_enabled": False,
    }  # fmt: skip
    found, warnings = list[str](), 0
    for node in publish_doctree(text, settings_overrides=settings).findall():
        warnings += isinstance(node, nodes.system_message) and node["level"] > 1
        around = node
        while around is not None and not isinstance(around, nodes.system_message):
            around = around.parent
        if around is None and not isinstance(node, (nodes.Text, nodes.target)):
            found.append(node.tagname)
    return found, warnings


def reads_alike(new: str, old: str) -> None:
    (found, warnings), (expected, before) = tree(new), tree(old)
    assert found == expected
    assert warnings <= before


HOSTILE = (
    *("*a " * 2000, "`a " * 2000, "a-" * 3000 + "_", "- " * 500 + "x", "`a <b>" * 2000, "a\n " * 1000),
    *("".join(" " * n + "a\n" for n in range(300)), "a::\n\n" * 500, "1. a\n" * 1000, "|\n" * 1000),
)
LONGER = (
    *("``a " * 3000, "**" * 3000, "|a " * 3000, "a_ " * 3000, "[a]" * 3000, "\\" * 3001, ":a:" * 3000),
    *("+-+\n" * 1000, "= =\n" * 1000, ".. note::\n" * 1000, ".. a\n" * 2000, ":a: b\n" * 2000, "-a " * 2000),
    *("a\n=\n" * 1000, "+-" * 1000 + "+\n" + "|" * 2000, "<" * 3000, "`" * 3000, ("a" * 50 + ".") * 500),
    *("- a\n\n" * 1000, "====\n" * 2000, "   :a: b\n" * 1000, ".. _a:\n" * 1000, "a  b\n" * 2000),
)
WORDS = [
    *(
        "word ",
        "Two ",
        " *d*",
        " **e** ",
        " ``c`` ",
        "`a <b>`_ ",
        ":ref:`a <b>` ",
        " [1]_",
        "x_ ",
        "水",
        "「",
        ".",
        "(",
        ") ",
    ),
    *("-", "\\* ", "\\ ", " :code:`f` ", " http://a.b/c_d ", "a_b", "|s| ", "::"),
]
LINES = st.tuples(
    st.sampled_from(["", "   ", "- ", "1. ", ":a: ", "| ", ".. ", ".. note:: ", ".. [1] ", "-a  ", "> "]),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map("".join),
).map("".join)
BLOCKS = st.sampled_from(
    ["", "Two\n---", "+----+\n| ab |\n+----+", "=== ===\na   b\n=== ===", ">>> a", ".. code::\n\n   x"]
)
FILES = st.tuples(
    st.lists(st.one_of(LINES, BLOCKS), max_size=8), st.sampled_from(["\n\n", "\n\n\n", "\r\n\r\n"])
).map(lambda file: file[1].join([*file[0], ""]))
MARKUP = [
    *(
        "- a",
        "1. a",
        "(a) b",
        "| a",
        ":a: b",
        "-a  b",
        "--all",
        ">>> a",
        ".. a",
        ".. a::",
        "a::",
        "::",
        "====",
        "-",
        "a\n=",
        "..",
        "__ a",
    ),
    *(
        "*a*",
        "**a**",
        "``a``",
        "`a`",
        "`a`_",
        "`a <b>`_",
        "a_",
        "a__",
        "|a|",
        "[1]_",
        "_`a`",
        ":a:`b`",
        "*a",
        "`a",
        "|a",
        "**",
        "``",
    ),
    *(
        "a\\",
        "\\*",
        "a : b",
        " : ",
        "+-+",
        "= =",
        "a | b",
        "-- a",
        '"*"',
        "*a b",
        "a* b",
        "http://a.b/c_",
        "'",
        "_",
        "a_b",
        "水",
        "「a」",
    ),
]


SEGMENTS: list[tuple[str, list[str]]] = [
    ("One\n===\n\n---\nTwo\n---\n\nThree\nfour\n\n----\n\nFive\n", ["One", "Two", "Three four", "Five"]),
    ("- One\n  two\n\n  three\n- four\n\n  #. five\n", ["One two", "three", "four", "five"]),
    ("1. One\n2. Two\n\nA. one does\nnot count\n", ["One", "Two", "A. one does not count"]),
    ("One : class\n    Two\n\n    three\n", ["One", "Two", "three"]),
    (
        ":orphan:\n:Author: Ann\n:Abstract: Of boats\n\nOne\n\n:a b: two\n  three\n",
        ["Of boats", "One", "two three"],
    ),
    ("-a, --all=X  One\n              two\n/V  three\n--long\n    four\n", ["One two", "three", "four"]),
    ("| One\n| two\n  three\n|\n| four\n", ["One", "two three", "four"]),
    ("One\n\n  Two\n\n    Three\n\n  -- Ann\n", ["One", "Two", "Three", "Ann"]),
    (
        "One::\n\n  code\n\n  code\n\nTwo ::\n\n> code\n\n::\n\n  code\n\nThree:\n\n>>> code\n1\n",
        ["One", "Two", "Three:"],
    ),
    (
        ".. a comment\n   here\n\n..\n\n.. _a: b\n.. __: c\n__ d\n\n.. [1] One\n.. [#a] Two\n   three\n",
        ["One", "Two three"],
    ),
    (".. |a| replace:: One\n.. |b| image:: c\n   :alt: Two\n", ["One", "Two"]),
    (
        ".. note:: One\n   two\n\n   three\n\n.. tip::\n   :class: a\n\n   four\n",
        ["One two", "three", "four"],
    ),
    (".. topic:: One\n   :class: a\n\n   Two::\n\n      code\n", ["One", "Two"]),
    (".. versionadded:: 3.2\n   One\n.. deprecated:: 1 Two\n", ["One", "Two"]),
    (
        ".. figure:: a.png\n   :alt: One\n      two\n   :width: 3\n\n   Three\n\n   Four\n",
        ["One two", "Three", "Four"],
    ),
    (".. py:function:: a(b)\n   :noindex:\n\n   One\n\n   :param b: two\n", ["One", "two"]),
    (".. toctree::\n   :caption: One\n\n   a\n   Two <b>\n", ["One", "Two"]),
    (".. code-block:: a\n   :caption: One\n\n   two\n\n.. only:: html\n\n   Three\n", ["One", "Three"]),
    ('.. csv-table:: One\n   :header: "two", "three"\n\n   "four", 5\n', ["One"]),
    (".. meta::\n   :description: One\n   :keywords: two\n", ["One"]),
    (".. glossary::\n\n   term\n   other term\n      One\n", ["One"]),
    (".. sidebar:: One\n   :subtitle: Two\n\n   Three\n", ["One", "Two", "Three"]),
    (".. card:: One\n\n   Two\n   +++\n   three\n\n   ^^^\n   Four\n", ["One", "Two", "three", "Four"]),
    (":a: b\n\nOne\n\n:type x: list of int\n:rtype: str or None\n:returns: two\n", ["One", "two"]),
    (".. list-table:: One\n   :widths: 1 2\n\n   * - two\n     - three\n", ["One", "two", "three"]),
    (
        ".. code-block:: a\n\n   b\n\n.. automodule:: a\n   :members:\n\n.. a::\n   b\n",
        [],
    ),
    ("+----+------+\n| One| - two|\n+----+------+\n|    | 3    |\n+----+------+\n", ["One", "two"]),
    (
        "===  =====\nOne  two\n===  =====\na    b\n     c\n\n\\    d\n===  =====\n",
        ["One", "two", "a", "b c", "d"],
    ),
    ("+-----+---+\n| One | a |\n+-----+---+\n| two     |\n+---------+\n", []),
    ("== ==\none\n-----\na  b\n== ==\n", []),
    ("a *b c* **d** ``e f`` *g h\n", ["a ⟨*⟩b c⟨*⟩ ⟨**⟩d⟨**⟩ ⟨``e f``⟩ ⟨*⟩g h"]),
    (
        "a `b <c>`_ `d`_ `e`__ f_ `g <h_>`_ i\n",
        ["a ⟨`⟩b⟨ <c>`_⟩ ⟨`⟩d⟨ <d_>`__⟩ ⟨`⟩e⟨`__⟩ ⟨f_⟩ ⟨`⟩g⟨ <h_>`_⟩ i"],
    ),
    (
        "a :ref:`b <c>` :doc:`d` :code:`e` `f` `g`:sup: :strong:`h` i\n",
        ["a ⟨:ref:`⟩b⟨ <c>`⟩ ⟨:doc:`d`⟩ ⟨:code:`e`⟩ ⟨`f`⟩ ⟨`g`:sup:⟩ ⟨:strong:`⟩h⟨`⟩ i"],
    ),
    ("a |b| [1]_ [CIT]_ _`c d` x\n", ["a ⟨|b|⟩ ⟨[1]_⟩ ⟨[CIT]_⟩ ⟨_`c d`⟩ x"]),
    ('2 * 3 ** 4 a*b* "*" (*) c_d \\*e\\* a\\ *b*\\ c\n', ['2 * 3 ** 4 a*b* "*" (*) c_d *e* a⟨*⟩b⟨*⟩c']),
    ("**All of it**\n", ["All of it"]),
]


@pytest.mark.parametrize(("text", "segments"), SEGMENTS)
def test_segments(text: str, segments: list[str]):
    assert sources("rst", text) == segments
    comes_back("rst", text.encode())
    assert translated("rst", text, lambda one: one) == text


@pytest.mark.thorough
@pytest.mark.parametrize("text", [text for text, _ in SEGMENTS])
def test_docutils_reads_alike(text: str):
    new = translated("rst", text, lambda one: one + "x y z" if any(map(str.isalpha, one)) else one)
    reads_alike(new, text)


@pytest.mark.thorough
@pytest.mark.parametrize("text", [pytest.param(text, id=text[:10]) for text in LONGER])
def test_hostile_files_are_read_in_time(text: str):
    start = time.process_time()
    comes_back("rst", text.encode())
    assert time.process_time() - start < 20


@pytest.mark.thorough
@settings(max_examples=30, deadline=None)
@given(FILES)
def test_docutils_reads_any_file_alike(text: str):
    comes_back("rst", text.encode())
    if not tree(text)[1]:
        reads_alike(translated("rst", text), text)


PLACES = (
    "====\nOne\n====\n\nTwo *three* `four <five>`_ six\nseven\n\n- eight\n\n"
    "nine : ten\n    eleven::\n\n      code\n\n"
    ":a: twelve\n\n+--------+\n| b      |\n+--------+\n\n== ==\nc  d\n== ==\n\n.. note:: thirteen\n\n"
    ".. image:: a.png\n   :alt: fourteen\n\n  fifteen\n\n| sixteen\n"
)


@pytest.mark.parametrize(
    "markup", [*MARKUP[:2], *(pytest.param(one, marks=pytest.mark.thorough) for one in MARKUP[2:])]
)
def test_a_translation_is_never_markup(markup: str):
    document = parse("rst", PLACES)
    assert isinstance(document, Rst)
    codes = [[one for one in segment.source if isinstance(one, Code)] for segment in document.segments]
    made = [
        (markup, *(part for code in own for part in ((" ", code) if code.kind == "open" else ("x", code))))
        for own in codes
    ]
    new = document.render([Result(one) for one in made]).decode()
    without = document.render([Result(("word", *one[1:])) for one in made]).decode()
    assert document.kept == []
    if "http:" not in markup:
        reads_alike(new, without)
    if any(map(str.isalpha, markup)):
        assert [plain(one.source) for one in parse("rst", new).segments] == [plain(one) for one in made]


def plain(content: Content) -> str:
    return "".join("⟨⟩" if isinstance(one, Code) else "".join(one.split()) for one in content)


def test_lines_of_titles_are_as_long_as_the_title():
    new = with_results("rst", "===\nOne\n===\n\nTwo\n---\n\nThree\n", ("Der Hafen",), ("水の上",))
    assert new == "=========\nDer Hafen\n=========\n\n水の上\n------\n\nThree\n"
    assert with_results("rst", "Three\n======\n", ("a",)) == "a\n======\n"


def test_references_to_a_title_find_it():
    text = "One two\n-------\n\nSee `One two`_, three_ and :ref:`One two`.\n\n.. _three: /x\n\nThree\n-----\n"
    new = translated("rst", text, lambda one: one[::-1])
    assert new.startswith(".. _`One two`:\n\nowt enO\n-------\n\n")
    assert "`owt enO <One two_>`__" in new
    assert translated("rst", "*One* ``x``\n---------\n\n`One x`_\n").startswith(
        ".. _`One x`:\n\n*ONE* ``x``\n---"
    )
    assert ".. _three: /x\n\neerhT\n" in new  # the file has a target with this name
    reads_alike(new, text)


def test_a_link_whose_name_is_used_again_stays():
    text = "The `old map <m>`_ is old; see `old map`_.\n"
    new = translated("rst", text)
    assert new == "THE `old map <m>`_ IS OLD; SEE `OLD MAP <old map_>`__.\n"
    reads_alike(new, text)
    assert translated("rst", "`One`_\n\n.. _one: m\n") == "`ONE <One_>`__\n\n.. _one: m\n"


def test_markup_in_scripts_without_spaces():
    source = parse("rst", "A **word** and ``code`` here\n").segments[0].source
    new = with_results(
        "rst", "A **word** and ``code`` here\n", ("这", source[1], "词", source[3], "和", source[5], "在")
    )
    assert new == "这\\ **词**\\ 和\\ ``code``\\ 在\n"
    assert tree(new)[0] == tree("A **word** and ``code`` here\n")[0]


def test_markup_does_not_nest():
    text = "A **large** ``x`` here\n"
    source = parse("rst", text).segments[0].source
    assert with_results("rst", text, (source[1], "a ", source[5], " b", source[3])) == "**a** ``x`` b\n"
    assert with_results("rst", text, (source[1], source[5], " b", source[3])) == "``x`` **b**\n"


def test_a_link_around_nothing_shows_its_target():
    text = "See `the map <m.html>`_, `old map`_ and :ref:`the pier <pier>` here.\n\n.. _old map: m\n"
    codes = [one for one in parse("rst", text).segments[0].source if isinstance(one, Code)]
    new = with_results("rst", text, ("Hier", *codes))
    assert new.startswith("Hier\\ `<m.html>`_\\ `<old map_>`__\\ :ref:`pier`")
    assert tree(new) == tree(text)


def test_tables_grow():
    text = "+----+----+\n| ab | cd |\n|    |    |\n|    | e  |\n+====+====+\n| *f*| 5  |\n+----+----+\n"
    new = with_results("rst", text, ("水の上",), ("long word",))
    assert new == (
        "+--------+-----------+\n| 水の上 | long word |\n|        |           |\n|        | e         |\n"
        "+========+===========+\n"
        "| *f*    | 5         |\n+--------+-----------+\n"
    )
    reads_alike(new, text)
    text = "- == ==\n  a  b\n  == ==\n"
    new = with_results("rst", text, ("longer",))
    assert new == "- ====== ==\n  longer b\n  ====== ==\n"
    reads_alike(new, text)


def test_what_cannot_be_written_is_kept():
    document = parse("rst", "One\n\nTwo\n\n== ==\na  b\n== ==\n")
    assert isinstance(document, Rst)
    code = Code("\n\n- no", "empty")
    new = document.render([Result(("Eins", code)), Result(("Zwei",)), Result(("c", code)), Result(("d",))])
    assert new == b"One\n\nZwei\n\n== ==\na  d\n== ==\n"
    assert [one.source for one in document.kept] == [("a",), ("One",)]


def test_segments_name_their_lines():
    text = "a\n=\n\nb\nc\n\n- d\n\n  +---+\n  | e |\n  |   |\n  | f |\n  +---+\n  | g |\n  +---+\n"
    assert [one.where for one in parse("rst", text).segments] == [
        "line 1", "line 4", "line 7", "line 10", "line 12", "line 14",
    ]  # fmt: skip


@pytest.mark.thorough
@settings(max_examples=30, deadline=None)
@given(FILES, st.lists(st.sampled_from(MARKUP), min_size=1))
def test_any_edit_keeps_the_blocks(text: str, markup: list[str]):
    document = parse("rst", text)
    results: list[Result | None] = [
        Result(
            (*one.source, " ", markup[n % len(markup)])
            if n % 2
            else (markup[n % len(markup)], " ", *one.source)
        )
        for n, one in enumerate(document.segments)
    ]
    new = document.render(results).decode()
    assert len(RstBlocks(new).blocks) == len(RstBlocks(text).blocks)
    assert parse("rst", new).render([None] * len(parse("rst", new).segments)).decode() == new


def test_a_line_of_switches_takes_no_time_to_refuse() -> None:
    switches = ", ".join(f"-{letter}" for letter in "abcdefghijklmnopqrstuvwxyz" * 40)
    assert sources("rst", f"{switches}, and so on.\n") == [f"{switches}, and so on."]
    assert sources("rst", "-a, -b FILE, --long=NAME, -Wall, /V  Reads it.\n") == ["Reads it."]
