from __future__ import annotations

import datetime
import json
import tomllib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dragoman.documents.formats import Languages
from dragoman.documents.markup.markdown.blocks import read_blocks
from dragoman.documents.markup.markdown.markdown import Markdown
from dragoman.documents.markup.markdown.markdown import parse as parse_markdown
from dragoman.documents.segment import Code, Content, Result
from tests.documents.files import comes_back, parse, sources, translated, with_results

FRONT = "---\ntitle: The harbour\n---\n"


def structure(text: str) -> list[tuple[str, str, int]]:
    """The blocks of a file as a parser without our rules reads them."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return [(one.type, one.tag, one.level) for one in tokens]


def html(text: str) -> str:
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("# One #\n\nTwo\n===\n", ["One", "Two"]),
        ("One\ntwo\n  three\n", ["One two three"]),
        ("> One\n> two\nlazy\n> - three\n", ["One two lazy", "three"][:0] + ["One two lazy", "three"]),
        ("- One\n  two\n\n  three\n- four\n  1. five\n", ["One two", "three", "four", "five"]),
        ("| A | `b|\n|---|\n", ["| A | ⟨`b|⟩"][:0] + ["| A | `b| |---|"]),
        ("| A | B |\n|--|--|\n| c \\| d | |\n| e | f | g |\n", ["A", "B", "c | d", "e", "f"]),
        ("*a* **b** __c__ ~~d~~ e", ["⟨*⟩a⟨*⟩ ⟨**⟩b⟨**⟩ ⟨__⟩c⟨__⟩ ⟨~~⟩d⟨~~⟩ e"]),
        ("***a** b* c", ["⟨*⟩⟨**⟩a⟨**⟩ b⟨*⟩ c"]),
        ("a [b *c*](<d e> 'f') g", ["a ⟨[⟩b ⟨*⟩c⟨*⟩⟨](<d e> 'f')⟩ g"]),
        ("a [b][c] [c] [d]\n\n[c]: /e 'f'\n", ["a ⟨[⟩b⟨][c]⟩ ⟨[⟩c⟨][c]⟩ [d]"]),
        ("a <http://b.c> `d *e*` f", ["a ⟨<http://b.c>⟩ ⟨`d *e*`⟩ f"]),
        ("a \\* &amp; &copy; \\a", ["a * & © \\a"]),
        ("a  \nb\\\nc", ["a⟨  \n⟩b⟨\\\n⟩c"]),
        ("a ![b](c) d", ["a ⟨![b](c)⟩ d", "b"]),
        (
            "a <b>c</b> <kbd>D</kbd> <!-- e --> f<br>g",
            ["a ⟨<b>⟩c⟨</b>⟩ ⟨<kbd>D</kbd>⟩ ⟨<!-- e -->⟩f⟨<br>⟩g"],
        ),
        (
            "a $b*c*d$ and $5 or $6[^1] e\n\n[^1]: See\n[^2]: It\n",
            ["a ⟨$b*c*d$⟩ and $5 or $6⟨[^1]⟩ e", "See", "It"],
        ),
        ("a {{< b *c* >}} {% d %} e {: .f}", ["a ⟨{{< b *c* >}}⟩ ⟨{% d %}⟩ e"]),
        ("- [ ] One\n- [x] two\n\n> [!NOTE]\n> Three\n", ["One", "two", "Three"]),
        ("Term\n:   What it means\n", ["Term", "What it means"]),
        ('!!! note "Title"\n    One\n\n    - two\n\nThree\n', ["Title", "One", "two", "Three"]),
        ("a <Tag b={c > d}>e</Tag>\n", ["a ⟨<Tag b={c > d}>⟩e⟨</Tag>⟩"]),
        ("**All of it**\n", ["All of it"]),
    ],
)
def test_segments(text: str, segments: list[str]):
    assert sources("markdown", text) == segments
    comes_back("markdown", text.encode())
    assert translated("markdown", text, lambda one: one) == text


@pytest.mark.parametrize(
    "kept",
    [
        "```\ncode\n```",
        "~~~ a\ncode",
        "    code",
        "<pre>\nhtml\n</pre>",
        "[label]: /address 'title'",
        "***",
        "$$\na\n\n- b\n$$",
        "\\[\na\n- b = c\n\\]",
        "\\\\[ a\n+ b = c \\\\]",
        "\\begin{align}\na &= b \\\\\\\\\n- c &= d\n\\end{align}",
        "{% highlight a %}\n# code\n\ncode\n{% endhighlight %}",
        "{{< highlight go >}}\ncode\n\ncode\n{{< /highlight >}}",
        "import A, { B } from './c'\nimport d from \"e\"",
        "export const a = {\n  b: 'c',\n}",
        ":::note",
        "{% include a.html %}",
        "[TOC]",
        "https://1.2/3",
    ],
)
def test_what_is_not_language_stays(kept: str):
    text = f"Before\n\n{kept}\n"
    assert translated("markdown", text).split("\n\n", 1)[0] == "BEFORE"
    assert sources("markdown", text)[0] == "Before"
    if not kept.startswith("https"):
        assert sources("markdown", text) == ["Before"]


@pytest.mark.parametrize(
    "front", ["---\na: b\n---\n", "+++\na = 'The'\n+++\n", "---\r\na: b\r\n...\r\n", "---\n---\n"]
)
def test_front_matter_stays(front: str):
    assert sources("markdown", front + "# One\n") == ["One"]
    assert translated("markdown", front + "# One\n") == front + "# ONE\n"
    assert sources("markdown", "---\nOne\n\n---\n") == ["One"]


def test_an_edit_keeps_the_marks_of_containers():
    text = "1. > One two three\n   > four five six\n   > seven\n\n   Eight\n"
    assert translated("markdown", text) == text.upper()
    longer = translated("markdown", text, lambda one: one + " up")
    assert longer.startswith("1. > One two three\n   > four five six\n   > seven up\n\n")


def test_a_paragraph_on_one_line_stays_on_one():
    new = with_results("markdown", "One.\n", ("word " * 50,))
    assert new == ("word " * 50).strip() + "\n"


def test_chinese_is_not_wrapped():
    new = with_results("markdown", "One two three\nfour five\n", ("他们在港口等待暴风雨过去",))
    assert new == "他们在港口等待暴风雨过去\n"


MARKUP = [
    *(
        "# a",
        "###### a",
        "1. a",
        "12) a",
        "- a",
        "+ a",
        "* a",
        "> a",
        "===",
        "---",
        "***",
        "_ _ _",
        "```",
        "~~~ a",
    ),
    *(
        "*a*",
        "**a**",
        "_a_",
        "a_b_c",
        "`a`",
        "``",
        "[a](b)",
        "![a](b)",
        "[label]",
        "[a][label]",
        "<b>",
        "</b>",
    ),
    *(
        "<!-- a",
        "<http://a.b>",
        "&amp;",
        "&#60;",
        "\\",
        "a\\",
        "\\*",
        "a | b",
        "| a |",
        "~~a~~",
        "$a$",
        "{{ a }}",
    ),
    *(
        "{% a %}",
        "[^1]",
        "[label]: /a",
        ":::",
        "!!! a",
        "https://a.b/_c_",
        "a  ",
        "a *b",
        "import a from 'b'",
    ),
    *("<div>", "#", "a #", "[ ] a", "[!NOTE]", "---|---", ": a", "=", "!", "~~~", "_a", "\u00a0a", "{: .a}"),
]
PLACES = (
    f"{FRONT}# One two #\n\nOne\ntwo [label]\nthree\n\n> - one two\n>   three\n\n"
    "| one | two |\n|---|---|\n| three | **two** |\n\n"
    "Four *one* two\n---\n\n![one](two)\n\n[label]: /x\n"
)


@pytest.mark.parametrize("markup", MARKUP)
def test_a_translation_is_never_markup(markup: str):
    document = parse("markdown", PLACES)
    assert isinstance(document, Markdown)
    new = document.render([Result((markup,)) for _ in document.segments]).decode()
    old_blocks, new_blocks = structure(PLACES), structure(new)
    assert new_blocks == old_blocks
    again = [plain(one.source) for one in parse("markdown", new).segments]
    if markup == "import a from 'b'":  # nothing escapes it
        assert len(document.kept) == 1
    else:
        assert not document.kept
        assert again == [plain((markup,))] * len(again)


def plain(content: Content) -> str:
    return "".join("⟨⟩" if isinstance(one, Code) else "".join(one.split()) for one in content)


def test_emphasis_that_punctuation_would_break():
    source = parse("markdown", "A **word** and _that_ here\n").segments[0].source
    new = with_results(
        "markdown",
        "A **word** and _that_ here\n",
        (source[1], "「词」", source[3], "和", source[5], "那个", source[7], "。"),
    )
    assert html(new) == "<p><strong>「词」</strong>和<em>那个</em>。</p>\n"


def test_space_moves_out_of_emphasis():
    source = parse("markdown", "A **word** here\n").segments[0].source
    new = with_results("markdown", "A **word** here\n", ("Ein", source[1], " Wort ", source[3], "hier"))
    assert new == "Ein **Wort** hier\n"
    assert (
        with_results("markdown", "A **word** here\n", ("Ein", source[1], source[3], " Wort")) == "Ein Wort\n"
    )


def test_spaces_that_are_not_collapsed_stay_at_the_ends():
    text = "\u3000One\n\n&nbsp;&nbsp;Two\n\n\u2003Three&emsp;\n"
    new = translated("markdown", text)
    assert new == "\u3000ONE\n\n\xa0\xa0TWO\n\n\u2003THREE\u2003\n"


def test_a_reference_keeps_its_label():
    text = "See [the map][] and [Pier].\n\n[Pier]\n\n[the map]: /m\n[pier]: /p\n"
    new = translated("markdown", text)
    assert new.startswith("SEE [THE MAP][the map] AND [PIER][Pier].\n\n[PIER][Pier]\n")
    assert html(new).count("<a href") == 3


def test_an_image_in_a_changed_sentence():
    text = 'See ![a map](m.png "t") and ![a map][m].\n\n[m]: /m\n'
    source = parse("markdown", text).segments[0].source
    new = with_results(
        "markdown", text, ("Siehe ", source[1], " und ", source[3]), ("eine [Karte]",), ("ein Plan",)
    )
    assert new.startswith('Siehe ![eine [Karte]](m.png "t") und ![ein Plan][m]\n')
    assert with_results("markdown", text, None, ("eine Karte",)) == text.replace("a map", "eine Karte", 1)
    assert sources("markdown", "![m]\n\n[m]: /m\n") == []


def test_a_bar_in_a_cell():
    text = "| a | `b\\|c` d |\n|---|---|\n"
    source = parse("markdown", text).segments[1].source
    new = with_results("markdown", text, None, (source[0], " e | f"))
    assert new == "| a | `b\\|c` e \\| f |\n|---|---|\n"


def test_what_cannot_be_written_is_kept():
    document = parse_markdown(b"One\n\nTwo\n", Languages("en", "de"))
    code = Code("\n\n# no", "empty")
    assert document.render([Result(("Eins", code)), Result(("Zwei",))]) == b"One\n\nZwei\n"
    assert [one.source for one in document.kept] == [("One",)]
    assert document.render([None, None]) == b"One\n\nTwo\n"
    assert document.kept == []


def test_segments_name_their_lines():
    found = parse("markdown", FRONT + "# One\r\rtwo\n\n| a |\n|---|\n| b |\n").segments
    assert [one.where for one in found] == ["line 2", "line 4", "line 6", "line 8", "line 10"]


@pytest.mark.parametrize(
    ("text", "segments", "kept"),
    [
        (
            "<details>\n<summary>One</summary>\n\nTwo **three**\n\n</details>\n",
            ["One", "Two ⟨**⟩three⟨**⟩"],
            ["<details>\n<summary>", "</summary>\n\n", "\n\n</details>\n"],
        ),
        (
            "> <p>One &lt;\n> <b title='two'>three</b></p>\n> <!-- four -->\n",
            ["One < ⟨<b title='two'>⟩three⟨</b>⟩", "two"],
            ["> <p>", "</p>\n> <!-- four -->\n"],
        ),
        (
            "<div translate=no>\n\nOne\n\n<p>Two</p>\n\n</div>\n\n<script>\n\na()\n</script>\n<pre>a</pre>\n",
            [],
            [],
        ),
        ("<span translate=no>\n\nOne\n\n<p>Two</p>\n", ["One", "Two"], ["<span translate=no>\n"]),
        ("- <dl><dt>One<dd>b\n      <code>3</code></dl>\n", ["One", "b ⟨<code>3</code>⟩"], ["- <dl><dt>"]),
        ('A <img src="b" alt="C"> d\n', ['A ⟨<img src="b" alt="C">⟩ d', "C"], ['<img src="b" alt="']),
        ("<p markdown='1'>\nOne *two*\n</p>\n", ["One ⟨*⟩two⟨*⟩"], ["<p markdown='1'>\n", "\n</p>\n"]),
        (
            '<Tabs a="b">\n<Tab>\nOne *two*\n</Tab>\n</Tabs>\n',
            ["One ⟨*⟩two⟨*⟩"],
            ['<Tabs a="b">\n<Tab>\n', "\n</Tab>\n</Tabs>\n"],
        ),
        (
            '<Card\n  title="a"\n  icon={<B c="d" />}\n>\n  One *two*\n</Card>\n(three)=\n',
            ["One ⟨*⟩two⟨*⟩"],
            ['<Card\n  title="a"\n  icon={<B c="d" />}\n>\n  ', "\n</Card>\n(three)=\n"],
        ),
        (
            "{a.map((b) => (\n  <li>{b}</li>\n))}\nOne\n",
            ["One"],
            ["{a.map((b) => (\n  <li>{b}</li>\n))}\n"],
        ),
        ("Press ++ctrl+c++ of ABC.\n\n*[ABC]: One\n", ["Press ⟨++ctrl+c++⟩ of ABC."], ["*[ABC]: One\n"]),
        ('<Button color="red">One</Button>\n', ["One"], ['<Button color="red">', "</Button>\n"]),
        ("{/* one\ntwo */}\n\nA {b.c} and {/* d */} e\n", ["A ⟨{b.c}⟩ and ⟨{/* d */}⟩ e"], ["{/* one\n"]),
        (
            "See [[Page]] or [[Page|the *page*]] or [[Page|it]] ![[a.png]] [[1]](/b)\n",
            ["See ⟨[[Page]]⟩ or ⟨[[Page|the *page*]]⟩ or ⟨[[Page|⟩it⟨]]⟩ ⟨![[a.png]]⟩ ⟨[⟩[1]⟨](/b)⟩"],
            ["[[Page|", "](/b)"],
        ),
        ('!!! note "One"\n    Two\n', ["One", "Two"], ['!!! note "', '"\n    ']),
        ('=== "One"\n\n    Two\n', ["One", "Two"], ['=== "', '"\n\n    ']),
        (":::note[One]{a=b}\nTwo\n:::\n", ["One", "Two"], [":::note[", "]{a=b}\n", "\n:::\n"]),
        ("::: tip One\nTwo\n:::\n::: code-group\n", ["One", "Two"], ["::: tip ", "\n:::\n::: code-group\n"]),
        ("> [!NOTE]- One\n> two\n", ["One", "two"], ["> [!NOTE]- ", "\n> "]),
        (
            "```{note} One\n:class: a\n\nTwo *three*\n\n- four\n```\nFive\n",
            ["One", "Two ⟨*⟩three⟨*⟩", "four", "Five"],
            ["```{note} ", "\n:class: a\n\n", "\n\n- ", "\n```\n"],
        ),
        (
            "````{tip}\n```{code-block} a\none\n```\nTwo {ref}`a <b>`\n````\n",
            ["Two ⟨{ref}`⟩a⟨ <b>`⟩"],
            ["````{tip}\n```{code-block} a\none\n```\n", " <b>`\n````\n"],
        ),
        (":::{math}\na b\n:::\n\n:::{note}\nOne\n:::\n", ["One"], [":::{math}\na b\n:::\n\n:::{note}\n"]),
        ("{{% note %}}\nOne\n{{% /note %}}\n", ["One"], ["{{% note %}}\n", "\n{{% /note %}}\n"]),
        ('{{< figure src="a.png" caption="One" >}}\n', [], []),
        (
            "[a]({{< ref \"b c.md\" >}} 'd') and [e]({% link f.md %}){:target=\"_blank\"} here\n",
            ["⟨[⟩a⟨]({{< ref \"b c.md\" >}} 'd')⟩ and ⟨[⟩e⟨]({% link f.md %})⟩⟨{:target=\"_blank\"}⟩ here"],
            [],
        ),
        ("[a]: {{ b }}/c\n\nOne [a]\n", ["One ⟨[⟩a⟨][a]⟩"], ["[a]: {{ b }}/c\n"]),
        ("[a](b){ .c .d } one ![e](f){ g=\"h\" loading=lazy } two\n",
         ["⟨[⟩a⟨](b)⟩⟨{ .c .d }⟩ one ⟨![e](f)⟩⟨{ g=\"h\" loading=lazy }⟩ two", "e"], []),
        ("A {new Date().a()} {' '} {!b.c} {d && e} {...f} {g ? 'h' : 'i'} z\n",
         ["A ⟨{new Date().a()}⟩ ⟨{' '}⟩ ⟨{!b.c}⟩ ⟨{d && e}⟩ ⟨{...f}⟩ ⟨{g ? 'h' : 'i'}⟩ z"], []),
        ("/// caption | One\n    attrs: {id: a}\nTwo\n///\n", ["Two"], ["/// caption | One\n", "\n///\n"]),
        ("See {ref}`One <two>` {doc}`three`\n", ["See ⟨{ref}`⟩One⟨ <two>`⟩ ⟨{doc}`three`⟩"], []),
        ("See ![One `a` *two*](b.png)\n", ["See", "One ⟨`a`⟩ ⟨*⟩two⟨*⟩"], ["`a`", "](b.png)"]),
        ("{% for a in b %}\n* One\n{% endfor %}\n:::tip\n- Two\n  three\n:::\n", ["One", "Two three"],
         ["\n{% endfor %}\n", "\n:::\n"]),
        ("<Cards>\n\t<Card a='b'>\n\t\tOne `c`.\n\t</Card>\n\t<Card>\n\n\t\tTwo\n\n\t</Card>\n</Cards>\n",
         ["One ⟨`c`⟩.", "Two"], ["\n\t</Card>\n</Cards>\n"]),
        ("A {b === 1 ? 'c' : 'd'} {e > 2} f\n", ["A ⟨{b === 1 ? 'c' : 'd'}⟩ ⟨{e > 2}⟩ f"], []),
        ("/// note | One\nTwo\n///\n", ["One", "Two"], ["/// note | ", "\n///\n"]),
        ("::: {.callout-tip}\n## One\nTwo\n:::\n", ["One", "Two"], ["::: {.callout-tip}\n", "\n:::\n"]),
        ("<ul>\n{a.map(b => (\n  <li>One {b.c}</li>\n))}\n</ul>\n", ["One {b.c}"], ["{a.map(b => (\n  <li>"]),
        ("One [see @b, p. 5] [@c] @fig-d \\newpage \\ref{e} two\n",
         ["One [see @b, p. 5] ⟨[@c]⟩ ⟨@fig-d⟩ ⟨\\newpage⟩ ⟨\\ref{e}⟩ two"], []),
        ("One \\(a \\cdot b\\) \\\\(x + y\\\\) \\[E\n= m\\] \\begin{a}b\\end{a} two\n",
         ["One ⟨\\(a \\cdot b\\)⟩ ⟨\\\\(x + y\\\\)⟩ ⟨\\[E\n= m\\]⟩ ⟨\\begin{a}b\\end{a}⟩ two"], []),
        ("One \\(see two\\) \\[the\nthree\\] \\[x four\n", ["One (see two) [the three] [x four"], []),
        ("One^[It is *two* [a](b).] three==x; C++ c++\n", ["One⟨^[It is *two* [a](b).]⟩ three==x; C++ c++",
         "It is ⟨*⟩two⟨*⟩ ⟨[⟩a⟨](b)⟩."], ["ONE^[IT IS *TWO* [A](b).] THREE"]),
        ("One \\(see the [two](three?a=1) for\\_all\\) four ^[note] five ^[six](b=1)\n",
         ["One (see the ⟨[⟩two⟨](three?a=1)⟩ for_all) four ⟨^[note]⟩ five ^⟨[⟩six⟨](b=1)⟩", "note"],
         ["^[NOTE] FIVE"]),
        ("One \\[a](b) two \\[c\\] three\n", ["One [a](b) two [c] three"], []),
        ("A {!b/c.md!} d\n", ["A ⟨{!b/c.md!}⟩ d"], []),
        ("One[^1]\n\n[^1]: Two\n    three\n\n    Four\n\n    - five\n\nSix\n",
         ["One", "Two three", "Four", "five", "Six"], []),
        ("One\n: Two\n\n    Three\n\n        code\n", ["One", "Two", "Three"], ["        code\n"]),
        ("Two {{< b c=\"d\" >}}three{{< /b >}}\n", ['Two ⟨{{< b c="d" >}}⟩three⟨{{< /b >}}⟩'], []),
    ],
)  # fmt: skip
def test_markup_of_site_generators(text: str, segments: list[str], kept: list[str]):
    assert sources("markdown", text) == segments
    comes_back("markdown", text.encode())
    new = translated("markdown", text)
    assert [one for one in kept if one not in new] == []
    assert new == text if not segments else new != text
    if "<Card" not in text:  # which CommonMark takes for a quotation
        assert structure(new) == structure(text)


def test_translations_never_end_a_block_of_html():
    text = "<p>One</p>\n\n- <td title='two'>three\n"
    for markup in ("a\n\n# b", "<div>", "</p>", "&amp;", "'", '"', "&lt;", "<!-- a"):
        new = with_results("markdown", text, *[(markup,)] * 3)
        assert structure(new) == structure(text)
        expected = " ".join(markup.split())
        assert sources("markdown", new) == ([expected] * 3 if any(map(str.isalpha, expected)) else [])


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("The harbour", "The harbour"),
        ('"The \\"old\\" harbour" # not this', 'The "old" harbour'),
        ("'It''s here'", "It's here"),
        ("C# in the harbour", "C# in the harbour"),
        (">-\n      The\n      harbour", "The harbour"),
        ("!!str The\n      harbour", "The harbour"),
        ("|-\n      The\n      harbour", "The\nharbour"),
    ],
)
@pytest.mark.parametrize(
    "new", ["Hafen", "a: b", "# a", "- a", "it's", 'a "b" \\ c', "yes", "[a]", "a #b", "", "a\nb: c"]
)
def test_front_matter_is_read_by_yaml(value: str, source: str, new: str):
    text = (
        f"---\ndate: 2026-01-02 # a\ntitle: {value}\nhero:\n  - tagline: {value}\n    b: [c, 'd']\n---\nOne\n"
    )
    assert sources("markdown", text) == [source, source, "One"]
    made = with_results("markdown", text, (new,), (new,))
    found = yaml.safe_load(made.split("---\n")[1])
    assert found == {
        "date": datetime.date(2026, 1, 2), "title": new,
        "hero": [{"tagline": new, "b": ["c", "d"]}],
    }  # fmt: skip
    assert with_results("markdown", text, (source,), (source,)) == text


def test_front_matter_in_toml_and_json():
    text = "+++\nweight = 1\ntitle = 'One'\n[a]\ndescription = \"two \\\"b\\\"\" # c\nslug = 'd'\n+++\n"
    assert sources("markdown", text) == ["One", 'two "b"']
    new = with_results("markdown", text, ("it's",), ('"\\n',))
    assert tomllib.loads(new.strip("+\n")) == {
        "weight": 1, "title": "it's", "a": {"description": '"\\n', "slug": "d"},
    }  # fmt: skip
    text = '{\n  "title": "One",\n  "draft": true\n}\nTwo\n'
    assert sources("markdown", text) == ["One", "Two"]
    new = with_results("markdown", text, ('"a"',), ("Zwei",))
    assert json.loads(new[: new.index("}") + 1]) == {"title": '"a"', "draft": True}


@pytest.mark.parametrize(
    "front",
    ["title: [One]", "title: true", "title: 5", "layout: post", "title:\n  en: One", "title: {{ One }}: a"],
)  # fmt: skip
def test_other_values_of_front_matter_stay(front: str):
    assert sources("markdown", f"---\na: b\n{front}\n---\n\n***\n") == []


HOSTILE = (
    *(
        "[[a" * 3000,
        "{/* " * 3000,
        "{a.b " * 3000,
        ":::{note}\n" * 500,
        "```{note}\n" * 500,
        "<p>\n\n" * 1000,
    ),
    *("> [!a] b\n" * 500, "<A " * 3000, "---\na:\n" + "title: 'a\n" * 3000, "---\ntitle: " + '"' * 3001),
    *(
        '{\n"' + "a\n" * 3000,
        "<b translate=no>\n\nx\n\n" * 500,
        ":::note " + "[" * 3000,
        "!!! a " + '"' * 3000,
    ),
    *(
        "[" * 3000,
        "*a " * 3000,
        "> " * 500 + "x",
        "- " * 500 + "x",
        "`" * 3000,
        "![" * 1000,
        "<a " * 3000,
    ),
    *(
        "$a " * 3000,
        "{{ " * 3000,
        "|" * 3000 + "\n" + "-|" * 3000,
        "&" * 3000,
        "<b>" * 3000,
        "!!! a\n    " * 500,
    ),
    *("{% raw %}\n" * 500, "$$\n" * 501, "---\na:\n" * 1000, "<a b={" * 1000, "\\" * 3001),
    *("[a]({{ b " * 1000, "{' " * 3000, "{a=" * 3000, "\\ab{" * 3000, "[@a " * 3000, "{ref}`a <" * 1000),
    *("\\(abc " * 1000, "\\[=\n" * 1000, "\\begin{a}\n" * 500, "^[" * 3000, "==a " * 3000, "++a b" * 3000),
    *("[^1]: a\n\n" + "    b\n\n" * 1000, "<p>" + "{a( " * 3000, "{new a" * 3000, "/// note | a\n" * 500),
    "[^1]: a\n\n    - b\n\n          c\n\n" * 300 + "    [^2]: d\n\n" * 300,
)


LINES = st.lists(
    st.sampled_from(
        [
            *(
                "# ",
                "> ",
                "- ",
                "1. ",
                "    ",
                "  ",
                "| ",
                " | ",
                "|---|---|",
                "```",
                "===",
                "---",
                "word",
                "Two",
                "a_b",
            ),
            *(
                " ",
                "*",
                "**",
                "_",
                "`",
                "[",
                "](/x)",
                "]",
                "[label]",
                "![",
                "<b>",
                "</b>",
                "<div>",
                "\\",
                "&amp;",
            ),
            *(
                "$",
                "~~",
                "  ",
                "{{ x }}",
                "{% y %}",
                "[^1]",
                ":",
                "!!! note",
                ":::",
                "<br>",
                "https://a.b/c_d",
                "水",
                *("<p>word", "</p>", "[[a|b]]", '"Two"', "```{note}", ":::{tip}", "<Tab>", '<i title="a">'),
            ),
        ]
    ),
    max_size=8,
).map("".join)
FILES = st.tuples(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n", "\n\n"])).map(
    lambda file: file[1].join([*file[0], "", "[label]: /x", ""])
)


@pytest.mark.thorough
@given(FILES, st.lists(st.sampled_from(MARKUP), min_size=1))
def test_any_edit_keeps_the_blocks(text: str, markup: list[str]):
    document = parse("markdown", text)
    results: list[Result | None] = [
        Result(
            (*one.source, " ", markup[number % len(markup)])
            if number % 2
            else (markup[number % len(markup)], " ", *one.source)
        )
        for number, one in enumerate(document.segments)
    ]
    new = document.render(results).decode()
    assert read_blocks(new).structure == read_blocks(text).structure
