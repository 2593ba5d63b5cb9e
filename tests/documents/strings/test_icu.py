from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.segment import Code, Content, text_of
from dragoman.documents.strings.icu import Message, quote_icu

FILES = "{count, plural, offset:1 =0 {No file} one {# file in {folder}} other {# files in {folder}}}"


def texts(message: Message) -> dict[str, str]:
    return {leaf.path: text_of(leaf.content) for leaf in message.leaves}


def test_each_branch_is_a_text() -> None:
    message = Message(FILES)
    assert texts(message) == {
        "count.=0": "No file",
        "count.one": "# file in {folder}",
        "count.other": "# files in {folder}",
    }
    assert message.leaves[1].content == (
        Code("#", "placeholder"),
        " file in ",
        Code("{folder}", "placeholder"),
    )


def test_only_branches_change() -> None:
    one = (Code("{folder}", "placeholder"), ": ", Code("#", "placeholder"), " Datei")
    assert Message(FILES).render([("Nichts",), one, None]) == (
        "{count, plural, offset:1 =0 {Nichts} one {{folder}: # Datei} other {# files in {folder}}}"
    )


def test_branches_nest() -> None:
    message = Message(
        "{who, select,\n  she {{n, plural, one {her # ship} other {her # ships}}}\n  other {their ships}}"
    )
    assert Message("{n, plural, other {{x, select, other {#}}}}").leaves[0].content == ("#",)
    assert texts(message) == {
        "who.she.n.one": "her # ship",
        "who.she.n.other": "her # ships",
        "who.other": "their ships",
    }
    assert message.render([("a",), ("b",), ("c",)]) == (
        "{who, select,\n  she {{n, plural, one {a} other {b}}}\n  other {c}}"
    )


def test_an_argument_within_a_sentence_is_a_placeholder() -> None:
    argument = "{n, plural, one {# file} other {# files}}"
    message = Message(f"It''s {argument} in {{folder}}.")
    assert [leaf.content for leaf in message.leaves] == [
        ("It's ", Code(argument, "placeholder"), " in ", Code("{folder}", "placeholder"), ".")
    ]
    assert message.render([("C'est ", Code(argument, "placeholder"), " !")]) == f"C''est {argument} !"


@pytest.mark.parametrize(
    "text",
    [
        "plain, it's",
        "Hello {name}, {when, date, short}!",
        "{",
        "}",
        "{n, plural, one {a}",
        "{n, plural}",
        "{n, plural, }",
        "{n, plural, one {a} other b}",
        "{n, plural, one {a}} }",
        "{{count}} of {{n, plural, one {a}}",
        "{n, select, a {" * 30 + "}}" * 30,
    ],
)
def test_other_strings_are_text_as_they_are(text: str) -> None:
    message = Message(text, java=False)
    assert [leaf.content for leaf in message.leaves] == [(text,)]
    assert message.render([("{it's}",)]) == "{it's}"


def test_apostrophes_quote() -> None:
    message = Message("{n, plural, one {it''s '{'one'}' '#' #} other {don't '{a ''b'' }' |}}")
    assert texts(message) == {"n.one": "it's {one} # #", "n.other": "don't {a 'b' } |"}
    assert message.render([None, ("l'{ # ",)]) == (
        "{n, plural, one {it''s '{'one'}' '#' #} other {l'''{' '#' }}"
    )
    single = Message("{n, select, other {don't}}")
    assert single.render([("{}''a",)]) == "{n, select, other {'{}'''''a}}"
    assert single.render([("l'ami des amis'",)]) == "{n, select, other {l'ami des amis''}}"
    assert single.render([("l'", Code("{x}", "placeholder"))]) == "{n, select, other {l''{x}}}"


def test_java_messages_double_apostrophes() -> None:
    message = Message("Open {0,choice,0#nothing|1<{0} files}", java=True)
    assert message.leaves[0].content == ("Open ", Code("{0,choice,0#nothing|1<{0} files}", "placeholder"))
    assert message.render([("L'ami ", Code("{0}", "placeholder"))]) == "L''ami {0}"
    assert Message("Open it", java=True).render([("L'ami",)]) == "L'ami"


def test_a_plural_gets_the_categories_of_the_language() -> None:
    polish = ("one", "few", "many", "other")
    message = Message("{n, plural,\n  one {# file}\n  other {# files}\n}", polish)
    assert list(texts(message)) == ["n.one", "n.few", "n.many", "n.other"]
    assert texts(message)["n.few"] == "# files"

    number = Code("#", "placeholder")
    assert message.render([(number, " plik"), (number, " pliki"), None, (number, " pliku")]) == (
        "{n, plural,\n  one {# plik}\n  few {# pliki}\n  other {# pliku}\n}"
    )
    assert message.render([leaf.content for leaf in message.leaves]) == message.text
    assert list(texts(Message("{n, selectordinal, one {#st} other {#th}}", polish))) == ["n.one", "n.other"]
    assert list(texts(Message("{n, plural, one {# file}}", polish))) == ["n.one"]
    nested = Message("{n, plural, other {{x, select, other {a}}}}", polish)
    assert list(texts(nested)) == ["n.other.x.other"]
    assert Message("{n, plural, other {a}}", ("one", "other")).render([("b",), ("c",)]) == (
        "{n, plural, one {b} other {c}}"
    )


LITERALS = st.text(st.sampled_from("ab '{}#|"), max_size=12)


@given(LITERALS, st.booleans(), st.booleans())
def test_a_quoted_text_is_read_as_it_is(text: str, doubled: bool, in_plural: bool) -> None:
    kind = "plural" if in_plural else "select"
    quoted = quote_icu(text, in_plural=in_plural, doubled=doubled)
    (leaf,) = Message(f"{{n, {kind}, other {{{quoted}}}}}").leaves
    assert leaf.content == ((text,) if text else ())


def contents() -> st.SearchStrategy[Content]:
    code = st.just(Code("{x}", "placeholder"))
    return st.lists(LITERALS.filter(bool) | code, max_size=4).map(tuple)


@given(contents(), st.sampled_from(["{n, select, other {it''s}}", "{n, select, other {}}"]))
def test_what_is_rendered_is_read_back(content: Content, text: str) -> None:
    new = Message(text).render([content])
    joined: list[str | Code] = []
    for one in content:
        if joined and isinstance(one, str) and isinstance(joined[-1], str):
            joined[-1] += one
        else:
            joined.append(one)
    assert [leaf.content for leaf in Message(new).leaves] == [tuple(joined)]


@given(st.text(st.sampled_from("{}',#n plurao=1"), max_size=40) | st.text(max_size=20))
def test_any_text_is_kept(text: str) -> None:
    for java in (False, True):
        message = Message(text, ("one", "few", "other"), java=java)
        assert message.render([leaf.content for leaf in message.leaves]) == text
        assert message.render([None] * len(message.leaves)) == text


def test_long_strings_take_no_time() -> None:
    for text in (
        "{" * 50_000,
        "'{" * 50_000,
        "{n, plural, one {" * 20_000,
        "{a," + " " * 50_000,
        "'" * 50_001,
    ):
        assert Message(text).leaves[0].content == (text,)
