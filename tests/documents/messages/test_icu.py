"""Messages with branches, in segments as any format has them. Another parser reads what is written."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyicumessageformat import Parser

from dragoman.documents.formats import Languages, format_named
from dragoman.documents.messages.icu import branches_of, quote_icu
from dragoman.documents.segment import Code, Content, Result, Segment, full_text
from dragoman.documents.translate import translate_document, translate_segments
from dragoman.translation.memory.store import TranslationMemory
from dragoman.translation.translator import Translator
from tests.documents.pretend import Change, Pretend, remembering

FILES = "{count, plural, offset:1 =0 {No file} one {# file in {folder}} other {# files in {folder}}}"
X = Code('<x id="INTERPOLATION"/>', "placeholder")
UNREAD = "a message with branches that cannot be read"


def result(
    source: str | Content, target: str = "de", change: Change = str.upper, *flags: str, **options: Any
) -> Result:
    content = (source,) if isinstance(source, str) else source
    translator = cast("Translator", Pretend(change, target_language=target, **options))
    (one,), _ = translate_segments(translator, [Segment(content, "line 1", flags=flags)])
    assert one is not None
    return one


def translated(source: str | Content, target: str = "de", change: Change = str.upper, *flags: str) -> str:
    return full_text(result(source, target, change, *flags).content)


def nodes(text: str) -> Iterator[Any]:
    """The arguments of a message, as another parser reads them."""
    todo = list(Parser().parse(text))
    while todo:
        node = todo.pop()
        if not isinstance(node, str):
            yield node
            todo += [one for option in node.get("options", {}).values() for one in option]


def arguments(text: str) -> set[tuple[str, str]]:
    return {(one["name"], one.get("type", "")) for one in nodes(text) if not one.get("hash")}


def selectors(text: str, kind: str = "plural") -> list[set[str]]:
    return [set(one["options"]) for one in nodes(text) if one.get("type") == kind]


def test_branches_are_translated_and_the_skeleton_stays() -> None:
    assert translated(FILES) == (
        "{count, plural, offset:1 =0 {NO FILE} one {# FILE IN {folder}} other {# FILES IN {folder}}}"
    )
    nested = (
        "{who, select,\n  she {{n, plural, one {her # ship} other {her # ships}}}\n  other {their ships}}"
    )
    assert translated(nested) == (
        "{who, select,\n  she {{n, plural, one {HER # SHIP} other {HER # SHIPS}}}\n  other {THEIR SHIPS}}"
    )
    assert translated("<b>{n, select, a {<i>dogs</i> sleep} other {x {{ name }}}}</b>: {y}") == (
        "<b>{n, select, a {<i>DOGS</i> SLEEP} other {X {{ name }}}}</b>: {y}"
    )
    assert translated(("{VAR_SELECT, select, a {The dog's } other {", X, " sleep}}")) == (
        f"{{VAR_SELECT, select, a {{THE DOG'S }} other {{{X.text} SLEEP}}}}"
    )


CATEGORIES = {  # of CLDR
    "de": "one other", "pl": "one few many other", "ru": "one few many other", "ja": "other",
    "ar": "zero one two few many other", "fr": "one many other", "he": "one two other",
}  # fmt: skip


@pytest.mark.parametrize("language", CATEGORIES)
def test_plurals_have_the_categories_of_the_language(language: str) -> None:
    wanted = set(CATEGORIES[language].split())
    for text in (
        "{n, plural, one {# dog} other {# dogs}}",
        "{n, plural,\n  =0 {No dog}\n  one {# dog}\n  other {# dogs}\n}",
        "{x, select, a {{n, plural, other {# dogs} one {# dog}}} other {None}}",
        "You have {n, plural, =0 {no dogs} one {# dog} other {# dogs}} in {place}.",
        "There {n, plural, one {is} other {are}} {n, plural, one {# dog} other {# dogs}}.",
    ):
        new = translated(text, language)
        own = {"=0"} if "=0" in text else set()
        assert selectors(new) == [wanted | own]
        assert arguments(new) == arguments(text)
        assert "dog" not in new


def test_ordinal_categories_are_others_and_marked() -> None:
    text = "{n, selectordinal, one {#st dog} two {#nd dog} few {#rd dog} other {#th dog}}"
    for language, wanted in {"de": "other", "fr": "one other", "it": "many other"}.items():
        new = result(text, language)
        assert selectors(full_text(new.content), "selectordinal") == [set(wanted.split())]
        assert "endings of ordinal numbers" in new.doubts


def test_explicit_numbers_and_categories_of_unknown_languages_stay() -> None:
    assert translated("{n, plural, =1 {A dog} other {dogs}}", "ja") == "{n, plural, =1 {A DOG} other {DOGS}}"
    assert translated("{n, plural, few {a dog} other {dogs}}", "qqq") == (
        "{n, plural, few {A DOG} other {DOGS}}"
    )
    assert translated("{n, plural, one {a dog}}", "pl") == "{n, plural, one {A DOG}}"


def test_one_is_translated_from_1_if_it_is_no_other_number() -> None:
    text = "{n, plural, =1 {a dog} other {# dogs}}"
    assert "one {A DOG}" in translated(text, "de")
    assert "one {# DOGS}" in translated(text, "ru")
    text = "{n, plural, offset:1 =1 {Only you} other {You and # dogs}}"  # "one" is for 2
    assert "one {YOU AND # DOGS}" in translated(text, "de")


def test_types_are_in_any_case() -> None:
    assert translated("{n, PLURAL, one {a dog} other {dogs}}") == "{n, PLURAL, one {A DOG} other {DOGS}}"
    assert translated("{n, Select, a {A dog} other {Dogs}}") == "{n, Select, a {A DOG} other {DOGS}}"


def test_a_form_without_its_number_is_doubtful_where_it_is_also_for_21() -> None:
    text = "{n, plural, one {A dog} other {# dogs}}"
    assert result(text, "de").doubts == ()
    assert result(text, "ru").doubts == ("n.one: lacks the number, which may be 21",)
    assert result(text, "fr").doubts == ("n.one: lacks the number, which may be 0",)
    for other, language in (
        (text.replace("A dog", "# dog"), "ru"),
        (text.replace("one", "=0 {No} one"), "fr"),
    ):
        assert result(other, language).doubts == ()


def test_branches_within_a_sentence_are_sentences() -> None:
    assert translated("You have {n, plural, one {# dog} other {# dogs}} in {place}. #1") == (
        "{n, plural, one {YOU HAVE # DOG IN {place}. '#'1} other {YOU HAVE # DOGS IN {place}. '#'1}}"
    )
    assert translated(
        "{n, plural, one {A dog} other {Dogs}} in {m, plural, one {# house} other {# houses}}"
    ) == (
        "{n, plural, one {{m, plural, one {A DOG IN # HOUSE} other {A DOG IN # HOUSES}}} "
        "other {{m, plural, one {DOGS IN # HOUSE} other {DOGS IN # HOUSES}}}}"
    )
    assert "{n, number} DOGS IN # HOUSES" in translated(
        "{n, plural, other {# dogs}} in {m, plural, one {# house} other {# houses}}"
    )


@pytest.mark.parametrize(
    "text",
    [
        "{n, plural, offset:1 other {# dogs}} in {m, plural, one {# house} other {# houses}}",
        " and ".join(f"{{a{n}, select, a {{one}} b {{two}} other {{more}}}}" for n in range(6)),
        " and ".join(f"{{a{n}, select, other {{more}}}}" for n in range(20)),
    ],
)
def test_what_cannot_be_divided_is_one_text_and_marked(text: str) -> None:
    new = result(text)
    assert arguments(full_text(new.content)) == arguments(text)
    assert new.doubts[-1].endswith("branches within a sentence")


@pytest.mark.parametrize(
    "text",
    [
        "plain, it's",
        "Hello {name}, {when, date, short}!",
        "{ is a brace",
        "a } is one",
        "{} of {0!r} {{count}} files {a.b[0]:>5}",
        "function() { return n; } is code",
        "{n, plural} of words",
    ],
)
def test_other_text_with_braces_is_no_message(text: str) -> None:
    assert branches_of(Segment((text,), "1"), "de") is None


@pytest.mark.parametrize(
    "text",
    [
        "{n, plural, one {a dog}",
        "{n, plural, }",
        "{n, plural, one {a dog} other dogs}",
        "{n, plural, one {a dog}} }",
        "{n, select, a {" * 30 + "}}" * 30,
        "{0,choice,dogs}",
        "I see {0:plural:one dog|{} dogs}",
        "{ $n -> [one] a dog *[other] dogs }",
        ".match {$n :number} one {{a dog}} * {{dogs}}",
    ],
)
def test_a_message_that_cannot_be_read_is_left_and_marked(text: str) -> None:
    assert result(text) == Result((text,), (f"not translated: {UNREAD}",))


def test_text_around_what_cannot_be_read_is_translated_and_marked() -> None:
    for text, new in {
        "a dog {n, plural, one {a} other b}": "A DOG {n, plural, one {a} other b}",
        "{{PLURAL:$1|dog|dogs}} sleep": "{{PLURAL:$1|dog|dogs}} SLEEP",
    }.items():
        assert result(text) == Result((new,), (UNREAD,))


def test_tags_that_cross_branches_leave_a_message_as_it_is() -> None:
    b, end = Code("<g>", "open", 1), Code("</g>", "close", 1)
    crossing = ("{n, plural, one {a ", b, "dog} other {some", end, " dogs}}")
    assert result(crossing).content == crossing
    assert result(crossing).doubts == (f"not translated: {UNREAD}",)
    assert result((b, "{n, select, other {", b, "dog", end, "}}", end)).content == (
        b, "{n, select, other {", b, "DOG", end, "}}", end,
    )  # fmt: skip


def test_codes_that_must_not_be_copied_leave_the_number_of_forms() -> None:
    fixed = Code('<ph id="1" canCopy="no"/>', "placeholder")
    text = ("{n, plural, one {a dog} other {", fixed, " dogs}}")
    assert translated(text, "pl") == f"{{n, plural, one {{A DOG}} other {{{fixed.text} DOGS}}}}"
    assert result(("in ", *text)).doubts == (f"not translated: {UNREAD}",)


def test_apostrophes() -> None:
    def elided(word: str) -> str:
        return word.replace("of", "d'")

    name = "{n, select, a {of {name}} other {dogs of}}"
    assert translated(name, "fr", elided) == "{n, select, a {d' {name}} other {dogs d’}}"
    glued = "{n, select, a {of{name}} other {it''s}}"
    assert translated(glued, "fr", elided) == "{n, select, a {d''{name}} other {it''s}}"
    assert translated("{n, select, other {it''s '{'a dog'}' '#' #}}") == (
        "{n, select, other {IT''S '{'A DOG'}' ''#'' #}}"
    )
    angular = ("{VAR_SELECT, select, other {of", X, " of}}")
    assert translated(angular, "fr", elided) == f"{{VAR_SELECT, select, other {{d’{X.text} d’}}}}"
    plain = ("{VAR_PLURAL, plural, other {of it's # ", X, "}}")
    assert translated(plain, "ja", elided) == f"{{VAR_PLURAL, plural, other {{d' it's # {X.text}}}}}"


def test_messages_of_java() -> None:
    assert translated("Don''t open {0}", "de", str.upper, "java-format") == "DON''T OPEN {0}"
    assert translated("It''s a dog", "de", str.upper, "icu-format") == "IT''S A DOG"
    assert translated("{0,choice,0#no dogs|1#one dog|1<{0,number,integer} dogs}") == (
        "{0,choice,0#NO DOGS|1#ONE DOG|1<{0,number,integer} DOGS}"
    )
    text = "There {0,choice,0#are no dogs|1#is a dog} in {1}."
    assert translated(text) == "{0,choice,0#THERE ARE NO DOGS IN {1}.|1#THERE IS A DOG IN {1}.}"
    assert translated("{0,choice,0#a dog of|1#dogs}", "fr", lambda one: one.replace("of", "d'")) == (
        "{0,choice,0#a dog d’|1#dogs}"
    )
    for text in ("{0,choice,0#a|1#b} {1,choice,0#a|1#b}", "{0,choice,0#a dog|1#dogs} in {1,number,#.#}"):
        assert result(text).doubts[-1].endswith("branches within a sentence")


def test_a_text_that_would_change_the_structure_is_left_and_marked() -> None:
    for text in ("{0,choice,0#a dog|1#cats}", "{VAR_SELECT, select, a {a dog} other {cats}}"):
        new = result(text, "de", lambda word: word.replace("dog", "}|{").replace("cats", "Katzen"))
        assert full_text(new.content) == text.replace("cats", "Katzen")
        assert any("it would change the structure" in one for one in new.doubts)


def test_doubts_name_their_branch() -> None:
    new = result("{n, plural, =5 {5 dogs} other {# dogs}}", "de", lambda word: word.replace("5", "6").upper())
    assert new.doubts == ("n.=5: number differs: 5 missing", "n.=5: number differs: 6 added")


def test_an_identity_changes_nothing() -> None:
    for text in (FILES, "in {n, plural, one {# dog} other {# dogs}}", "{0,choice,0#it''''s|1#b}"):
        new = result(text, "pl", lambda word: word)
        assert new.content == (text,)


def test_the_memory_has_branches_and_whole_messages(tmp_path: Any) -> None:
    text = "{n, plural, one {# dog} other {# dogs}}"
    whole = "{n, plural, one {# Hund} other {# Hunde}}"
    with TranslationMemory.create(tmp_path / "a.tm", source_language="en", target_language="de") as memory:
        memory.add("# dogs", "# Hunde")
        (one,), counts = translate_segments(cast("Translator", remembering(memory)), [Segment((text,), "1")])
        assert one is not None
        assert full_text(one.content) == "{n, plural, one {# DOG} other {# Hunde}}"
        assert (one.is_remembered, counts.remembered) == (False, 0)
        memory.add(text, whole.replace("{n,", "{m,"))
        (one,), _ = translate_segments(cast("Translator", remembering(memory)), [Segment((text,), "1")])
        assert one is not None
        assert not one.is_remembered  # another argument
        memory.add(text, whole)
        (one,), _ = translate_segments(cast("Translator", remembering(memory)), [Segment((text,), "1")])
        assert one is not None
        assert (one.content, one.is_remembered, one.doubts) == ((whole,), True, ())


V12, V20 = "urn:oasis:names:tc:xliff:document:1.2", "urn:oasis:names:tc:xliff:document:2.0"
PLURAL = "{VAR_PLURAL, plural, =0 {No dog sleeps} other {%s dogs sleep}}"
PLAIN = PLURAL % "{n}"
FORMS = "one {%s DOGS SLEEP} few {%s DOGS SLEEP} many {%s DOGS SLEEP} other {%s DOGS SLEEP}"
WRITTEN = f"{{VAR_PLURAL, plural, =0 {{NO DOG SLEEPS}} {FORMS.replace('%s', '{n}')}}}"
PH = '<ph id="0%s" equiv="INTERPOLATION" disp="{{ n }}"%s/>'
COPIES = [PH % ("-copy" * n, ' copyOf="0"' * bool(n)) for n in range(4)]
FORMATS_WITH_BRANCHES = {
    "xliff 1.2": (
        f'<xliff version="1.2" xmlns="{V12}"><file source-language="en" target-language="pl"><body>'
        f'<trans-unit id="1"><source>{PLURAL % X.text}</source></trans-unit></body></file></xliff>',
        '<target state="translated">{VAR_PLURAL, plural, =0 {NO DOG SLEEPS} '
        + FORMS.replace("%s", X.text)
        + "}</target>",
    ),
    "xliff 2": (
        f'<xliff version="2.0" xmlns="{V20}" srcLang="en" trgLang="pl"><file id="f"><unit id="1"><segment>'
        f"<source>{PLURAL % COPIES[0]}</source></segment></unit></file></xliff>",
        "<target>{VAR_PLURAL, plural, =0 {NO DOG SLEEPS} " + FORMS % tuple(COPIES) + "}</target>",
    ),
    "tmx": (
        '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>'
        f"{PLAIN}</seg></tuv></tu></body></tmx>",
        f"<seg>{WRITTEN}</seg>",
    ),
    "po": (f'msgid "{PLAIN}"\nmsgstr ""\n', 'msgstr ""\n"{VAR_PLURAL, plural, =0 {NO DOG SLEEPS} one'),
    "json": (f'{{"a": "{PLAIN}"}}', f'{{"a": "{WRITTEN}"}}'),
    "properties": (f"a={PLAIN}\n", f"a={WRITTEN}\n"),
    "android": (f'<resources><string name="a">{PLAIN}</string></resources>', f">{WRITTEN}</string>"),
    "html": (f"<p>{PLAIN}</p>", f"<p>{WRITTEN}</p>"),
}


@pytest.mark.parametrize("name", FORMATS_WITH_BRANCHES)
def test_every_format_has_branches(name: str) -> None:
    source, expected = FORMATS_WITH_BRANCHES[name]
    format = format_named(name.split()[0])
    document = format.parse(source.encode(), Languages("en", "pl"))
    translator = cast("Translator", Pretend(str.upper, target_language="pl"))
    new, _, counts = translate_document(translator, document)
    assert expected in new.decode()
    assert (counts.segments, counts.filled, counts.doubtful) == (1, 1, 0)
    again = format.parse(new, Languages("en", "pl"))  # which also checks the rules of XLIFF 2
    if format.bilingual:  # and the translations of people stay
        assert again.segments[0].target is not None
        assert translate_document(translator, again)[0] == new


SIGNS = ("", "{", "}", "'", "#", "|", "<b>", "{x}", "{n, plural, other {", "''", "'{", "\n", "=1 {", "’", "<")


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(3, 30))]
)
def test_a_hostile_translator_breaks_no_message(seed: int) -> None:
    chance = random.Random(seed)
    texts = (
        FILES, "In {n, plural, one {# dog} other {many dogs}} of {name}",
        "{who, select, she {{n, plural, one {# ship of hers} other {her ships}}} other {their ships}}",
        "{n, plural, one {it''s a dog} other {'{'dogs'}'}}",
    )  # fmt: skip
    for text in texts:
        new = result(
            text, chance.choice(["de", "pl", "ja"]), lambda word: word + chance.choice(SIGNS),
            backwards=chance.random() < 0.5, links=chance.random() < 0.5, pieces=seed % 3,
        )  # fmt: skip
        assert arguments(full_text(new.content)) == arguments(text)
        choice = result("{0,choice,0#no dogs|1#a dog|2#dogs}", "de", lambda word: word + chance.choice(SIGNS))
        assert full_text(choice.content).count("|") == 2


LITERALS = st.text(st.sampled_from("ab '{}#|"), max_size=12)


@example("a''a", False)
@given(LITERALS, st.booleans())
def test_a_quoted_text_is_read_as_it_is(text: str, in_plural: bool) -> None:
    kind = "plural" if in_plural else "select"
    quoted = quote_icu(text, in_plural=in_plural, doubled=True)
    message = branches_of(Segment((f"{{n, {kind}, other {{{quoted}}}}}",), "1"), "ja")
    assert message is not None
    (leaf,) = message.segments
    assert leaf.source == ((text,) if text else ())
    for written in (quoted, quote_icu(text, in_plural=in_plural, doubled=False)):
        [node] = Parser().parse(f"{{n, {kind}, other {{{written}}}}}")
        assert "".join(node["options"]["other"]).replace("’", "'") == text


@given(st.text(st.sampled_from("{}',#n plurao=1|<"), max_size=40) | st.text(max_size=20))
def test_any_text_is_kept(text: str) -> None:
    for flags in ((), ("java-format",), ("icu-format",)):
        divided = branches_of(Segment((text,), "1", flags=flags), "pl")
        if divided is not None:
            same = divided.joined([Result(one.source) for one in divided.segments])
            assert full_text(same.content) == text


@pytest.mark.thorough
def test_long_strings_take_no_time() -> None:
    for text in (
        "{" * 50_000,
        "'{" * 50_000,
        "{n, plural, one {" * 20_000,
        "{a," + " " * 50_000,
        "'" * 50_001 + "{",
        "{0,choice,0#" + "'" * 50_000,
        "{n, plural, other {a} " * 5_000 + "}" * 5_000,
        "{n, plural, other {a}}" * 5_000,
        "{a}" * 20_000 + "{n, plural, other {a}}",
    ):
        branches_of(Segment((text,), "1"), "de")
