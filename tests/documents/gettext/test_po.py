from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.formats import Languages
from dragoman.documents.gettext.entries import columns, quote
from dragoman.documents.gettext.po import Catalogue, parse
from dragoman.documents.segment import Result, Status
from dragoman.documents.translate import translate_document
from dragoman.text.blank import is_blank
from tests.documents.pretend import Pretend

GERMAN = Languages("en", "de")
HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
FORMS = '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n'
FILE = (
    "# Messages of the harbour.\n"
    + HEADER
    + '"Language: \\n"\n'
    + FORMS
    + """
# From the office.
#. Shown at night.
#. And by day.
#: harbour.c:12
#, fuzzy, c-format
#| msgid "The ship leave"
msgctxt "sign"
msgid "The ship leaves at %s."
msgstr "Das Schiff fährt um %s."

#: harbour.c:20
msgid "One ship"
msgid_plural "%d ships"
msgstr[0] "Ein Schiff"
msgstr[1] ""

msgid ""
"A line\\n"
"and a \\"second\\" one"
msgstr ""

# Gone.
#, fuzzy
#~ msgid "Sail"
#~ msgstr "Segel"
"""
)


def read(text: str, languages: Languages = GERMAN) -> Catalogue:
    return parse(text.encode(), languages)


def translate(text: str, *translations: str | Result | None, languages: Languages = GERMAN) -> str:
    results = [Result((one,)) if isinstance(one, str) else one for one in translations]
    return read(text, languages).render(results).decode()


def messages(entries: str, header: str = HEADER) -> str:
    return header + "\n" + entries


def test_segments_say_what_the_file_says() -> None:
    sign, one, many, lines = read(FILE).segments

    assert sign.source == ("The ship leaves at %s.",)
    assert sign.target == ("Das Schiff fährt um %s.",)
    assert (sign.state, sign.context, sign.flags) == (Status.DRAFT, "sign", ("c-format",))
    assert sign.note == "Shown at night.\nAnd by day."
    assert sign.where == "line 15"
    assert (one.source, one.target, one.state) == (("One ship",), ("Ein Schiff",), Status.DONE)
    assert (many.source, many.target, many.state) == (("%d ships",), None, Status.MISSING)
    assert lines.source == ('A line\nand a "second" one',)


def test_only_what_is_translated_changes() -> None:
    assert translate(FILE, None, None, None, 'Eine Zeile\nund eine "zweite"') == FILE.replace(
        'a \\"second\\" one"\nmsgstr ""',
        'a \\"second\\" one"\nmsgstr ""\n"Eine Zeile\\n"\n"und eine \\"zweite\\""',
    ).replace("Language: ", "Language: de")


def test_a_result_without_doubts_ends_the_fuzzy_state() -> None:
    assert translate(FILE, "Das Schiff fährt um %s ab.", None, None, None) == FILE.replace(
        "#, fuzzy, c-format", "#, c-format"
    ).replace('#| msgid "The ship leave"\n', "").replace("um %s.", "um %s ab.").replace(
        "Language: ", "Language: de"
    ).replace("office.\n", 'office.\n# previous msgstr "Das Schiff fährt um %s."\n')


def test_fuzzy_translations_that_are_replaced_stay_as_comments() -> None:
    """One line each, as gettext escapes them, once; with the number of their form; also as others see it."""
    entry = messages(
        "#. Note.\n#, fuzzy\n"
        'msgid "a\\n"\nmsgid_plural "b\\n"\nmsgstr[0] "c\\n"\nmsgstr[1] "\\"d\\"\\ne\\n"\n',
        HEADER + FORMS,
    )
    once = translate(entry, "A", "B")
    comments = '# previous msgstr[0] "c"\n# previous msgstr[1] "\\"d\\"\\ne"\n#. Note.\n'
    assert once == entry.replace("#. Note.\n#, fuzzy\n", comments).replace('"c', '"A', 2).replace(
        '"A"', '"c"'
    ).replace('[1] "\\"d\\"\\ne\\n"', '[1] "B\\n"')
    assert [one.tcomment for one in polib.pofile(once)] == [
        'previous msgstr[0] "c"\nprevious msgstr[1] "\\"d\\"\\ne"'
    ]
    assert read(once).segments[0].state is Status.DONE
    again = translate(once.replace("#. Note.\n", "#. Note.\n#, fuzzy\n"), "c", "B")
    assert again.count("previous msgstr[0]") == 2
    assert again.count('previous msgstr[0] "c"') == 1


def test_without_a_header_comments_stay_with_their_message() -> None:
    new = polib.pofile(translate('#, fuzzy\nmsgid "a"\nmsgstr "b"\n', Result(("c",), ("why",))))
    assert (new.header, new[0].tcomment) == ("", 'previous msgstr "b"\ndragoman: why')


def test_doubts_are_a_flag_and_a_comment_that_do_not_pile_up() -> None:
    doubtful = Result(("Ein Boot",), ("number differs: 1", "a\nline"))
    once = translate(FILE, doubtful, doubtful, Result(("%d Boote",)), None)

    assert (
        '# From the office.\n# previous msgstr "Das Schiff fährt um %s."\n'
        "# dragoman: number differs: 1; a line\n#. Shown at night.\n#. And by day.\n"
        '#: harbour.c:12\n#, fuzzy, c-format\n#| msgid "The ship leave"\nmsgctxt'
    ) in once
    assert (
        "# dragoman: number differs: 1; a line\n#: harbour.c:20\n#, fuzzy\nmsgid "
        '"One ship"\nmsgid_plural "%d ships"\nmsgstr[0] "Ein Boot"\nmsgstr[1] "%d Boote"\n'
    ) in once
    assert translate(once, doubtful, doubtful, Result(("%d Boote",)), None) == once
    bare = once.replace("Language: de", "Language: ")
    assert translate(bare, doubtful, doubtful, Result(("%d Boote",)), None) == bare
    twice = once.replace("# dragoman", "# dragoman: old\n# dragoman", 1)
    assert translate(twice, doubtful, None, None, None) == once
    again = translate(once, Result(("Ein Boot",), ("other",)), None, None, None)
    assert again == once.replace("number differs: 1; a line", "other", 1)
    clean = translate(once, "Ein Boot", "Ein Boot", "%d Boote", None)
    assert "dragoman" not in clean
    assert clean.count("fuzzy") == 1  # of the obsolete entry


def test_half_of_a_plural_leaves_its_flag() -> None:
    entry = messages('#, fuzzy\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\nmsgstr[1] "d"\n', HEADER + FORMS)
    new = entry.replace('"d"', '"e"').replace("#, fuzzy", '# previous msgstr[1] "d"\n#, fuzzy')
    assert translate(entry, None, "e") == new
    assert "fuzzy" not in translate(entry, "c", "e")


@pytest.mark.parametrize(
    ("comments", "marked"),
    [
        ("", "# dragoman: why\n#, fuzzy\n"),
        ("#\n", "#\n# dragoman: why\n#, fuzzy\n"),
        ("#: a.c:1\n#,c-format\n", "# dragoman: why\n#: a.c:1\n#, fuzzy, c-format\n"),
        ('#| msgid "x"\n', '# dragoman: why\n#, fuzzy\n#| msgid "x"\n'),
        ("  #. note\n", "# dragoman: why\n  #. note\n#, fuzzy\n"),
    ],
)
def test_marks_stand_in_the_order_of_gettext(comments: str, marked: str) -> None:
    text = messages(comments + 'msgid "a"\nmsgstr "b"\n')
    assert translate(text, Result(("b",), ("why",))) == text.replace(
        comments + 'msgid "a"', marked + 'msgid "a"'
    )


def test_two_entries_in_a_line() -> None:
    text = messages('msgid "a" msgstr "b" msgid "c" msgstr "d"')
    assert translate(text, None, Result(("e",), ("why",))) == messages(
        'msgid "a" msgstr "b" \n# dragoman: why\n\n#, fuzzy\nmsgid "c" msgstr "e"'
    )


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("a\\n", "b", "b\\n"),
        ("\\na", "b\n", "\\nb"),
        ("a", "\nb\n", "b"),
        ("\\na\\n", "b", "\\nb\\n"),
        ("a\\n", "", ""),
        ("\\n", "\n", "\\n"),
        ("a", "\n", ""),
    ],
)
def test_newlines_at_the_ends_are_those_of_the_source(source: str, translation: str, expected: str) -> None:
    text = messages(f'msgid "{source}"\nmsgstr "old"\n')
    entry = polib.pofile(translate(text, translation))[0]
    assert entry.msgstr == expected.replace("\\n", "\n")


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (r"\n\t\"\\\r\a\b\f\v", '\n\t"\\\r\a\b\f\v'),
        (r"\101\0602\x41", "A02A"),
        (r"\x4142", "B"),  # so does gettext
        (r"\303\274\xc3\xbc", "üü"),
        ('a" "b"\n"c', "abc"),
    ],
)
def test_escapes(raw: str, value: str) -> None:
    assert read(messages(f'msgid "{raw}"\nmsgstr ""\n')).segments[0].source == (value,)


TRANSLATED_PLURAL = 'msgid "a"\nmsgid_plural "b"\nmsgstr [ 0 ] "c"\nmsgstr[1] ""\n'


@pytest.mark.parametrize(
    ("entries", "what"),
    [
        ('msgid "a\nmsgstr "b"\n', "line 5: the string has no end"),
        ('msgid "a"\n', "line 5: msgid without msgstr"),
        ('msgid "a"\n# c\nmsgstr "b"\n', "line 5: msgid without msgstr"),
        ('msgstr "b"\n', "line 5: expected one msgstr"),
        ('msgctxt "b"\nmsgstr "b"\n', "line 6: msgstr after msgctxt"),
        ('msgid\nmsgstr "b"\n', "line 5: msgid without a string"),
        ('msgid "a"\nmsgstr "b"\nmsgstr "b"\n', "line 7: expected one msgstr"),
        ('msgid "a"\nmsgstr[0] "b"\n', "line 6: expected one msgstr"),
        ('msgid "a"\nmsgid_plural "a"\nmsgstr "b"\n', "line 7: expected msgstr[0]"),
        ('msgid "a"\nmsgid_plural "a"\nmsgstr[0] "b"\nmsgstr[2] "b"\n', "line 8: expected msgstr[1]"),
        ('msgid "a"\nmsgstr ""\n\nmsgid "a"\nmsgstr ""\n', "line 8: this message is in line 5 already"),
        ('msgid "" msgstr ""\n', "line 5: this message is in line 1 already"),
        ('msgid "a"\nmsgstr "\\q"\n', "line 6: unknown escape \\q"),
        ('msgid "a"\nmsgstr "\\300"\n', "line 6: \\300 is not UTF-8"),
        ('domain "a"\n', "line 5: the file has several domains"),
        ('hello "a"\n', 'line 5: not PO: hello "a"'),
    ],
)
def test_what_gettext_refuses_is_an_error_with_its_line(entries: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        read(messages(entries))
    assert str(error.value) == what
    if shutil.which("msgfmt") and "domain" not in what and "is not UTF-8" not in what:
        (tmp_path / "bad.po").write_text(messages(entries))
        assert msgfmt(tmp_path / "bad.po", "--no-hash").returncode


def msgfmt(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["msgfmt", *options, "-o", "/dev/null", path], capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(not shutil.which("msgfmt"), reason="needs gettext")
def test_msgfmt_accepts_what_is_written(tmp_path: Path) -> None:
    template = (
        'msgid ""\nmsgstr ""\n"Project-Id-Version: x\\n"\n"PO-Revision-Date: x\\n"\n"Last-Translator: x\\n"\n'
        '"Language-Team: x\\n"\n"Language: \\n"\n"MIME-Version: 1.0\\n"\n"Content-Type: text/plain; '
        'charset=CHARSET\\n"\n"Content-Transfer-Encoding: 8bit\\n"\n"Plural-Forms: nplurals=INTEGER; '
        'plural=EXPRESSION;\\n"\n\nmsgid "a ship"\nmsgid_plural "%d ships"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    )
    (tmp_path / "pl.po").write_text(
        translate(template, "statek", "%d statki", "%d statków", languages=Languages("en", "pl"))
    )
    checked = msgfmt(tmp_path / "pl.po", "-c")
    assert (checked.returncode, checked.stderr) == (0, "")


_MESSAGES = {
    "c": [
        "%d dogs in %s",
        "It is %.1fkg in 100%%",
        "%1$s and %2$d",
        "%*d dogs",
        "%<PRIu64>th",
        "% d",
        "5% of",
    ],
    "objc": ["%@ sleeps", "%1$@ and %2$@"],
    "python": ["%(name)ss bark", "%.2fh of %s"],
    "python-brace": ["{a} and {b:.2f}kg", "{{x}} is {}"],
    "php": ["%'x10d dogs", "%skm to %s"],
    "javascript": ["%j is %s"],
    "perl": ["%vd is %s"],
    "perl-brace": ["{a} has {b}"],
    "qt": ["%1st of %L2", "100% of %1"],
    "qt-plural": ["%n dog(s)"],
    "kde": ["%1 has %2 dogs"],
    "kde-kuit": ["<filename>%1</filename> of %2"],
    "boost": ["%1% and %|2$d|", "%s of %d"],
    "lua": ["%q is %d"],
    "java": ["{0} has {1,number} dogs", "it''s {0}"],
    "java-printf": ["%s has %d"],
    "csharp": ["{0} has {1:N2}", "{{0}} and {0}"],
    "sh": ["$name has ${count}"],
    "tcl": ["%s has %d"],
    "ruby": ["%<a>d of %{b}", "%s has %d"],
    "awk": ["%c is %5.1f"],
    "object-pascal": ["%1:s and %0:s"],
    "gcc-internal": ["%qs has %d", "%<a%> is %qE"],
    "gfc-internal": ["%s has %d"],
    "lisp": ["~a has ~d"],
    "scheme": ["~a has ~d"],
    "elisp": ["%s has %d"],
    "smalltalk": ["<1s> has <2p>"],
    "ycp": ["%1 has %2"],
}
_CHANGES = {
    "swapped": str.swapcase,
    "without signs": lambda word: re.sub(r"[^\w\s]", "", word) or "x",
    "doubled": lambda word: word * 2,
    "backwards": lambda word: word[::-1],
    "percent": lambda word: word + "% %s",
    "braces": lambda word: word + "{ {0}",
    "apostrophe": lambda word: "l'" + word + "~ $x",
    "gone": lambda word: word.upper() if word.isalpha() else "",
}


@pytest.mark.skipif(not shutil.which("msgfmt"), reason="needs gettext")
@pytest.mark.parametrize(
    "change", [pytest.param(one, marks=pytest.mark.thorough if n else ()) for n, one in enumerate(_CHANGES)]
)
def test_msgfmt_accepts_what_is_not_marked(change: str, tmp_path: Path) -> None:
    text = HEADER + "".join(
        f'\n#, {flag}-format\nmsgctxt "{flag} {number}"\nmsgid "{one}"\nmsgstr ""\n'
        for flag, messages in _MESSAGES.items()
        for number, one in enumerate(messages)
    )
    for backwards in (False, True):
        new, *_ = translate_document(Pretend(_CHANGES[change], backwards), read(text))
        (tmp_path / "de.po").write_bytes(new)
        checked = msgfmt(tmp_path / "de.po", "--check-format")
        assert (checked.returncode, checked.stderr) == (0, "")


def test_a_message_that_no_program_reads_is_not_strict() -> None:
    text = messages('#, no-c-format\nmsgid "It is 5 % of it"\nmsgstr ""\n')
    new, *_ = translate_document(Pretend(str.upper), read(text))
    assert 'msgstr "IT IS 5 % OF IT"' in new.decode()


@pytest.mark.parametrize(("language", "forms"), [("ja", 1), ("pl", 3), ("pt-BR", 2), ("ar", 6), ("qqq", 2)])
def test_a_template_gets_the_forms_of_the_language(language: str, forms: int) -> None:
    text = messages('msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n')
    segments = read(text, Languages("en", language)).segments
    assert [one.source[0] for one in segments] == {"ja": ["b"], "ar": [*"babbbb"]}.get(
        language, ["a"] + ["b"] * (forms - 1)
    )

    new = translate(text, *(f"c{n}" for n in range(forms)), languages=Languages("en", language))
    written = polib.pofile(new)
    assert written[0].msgstr_plural == {n: f"c{n}" for n in range(forms)}
    assert written.metadata.get("Plural-Forms", "").startswith(f"nplurals={forms};") == (language != "qqq")


@pytest.mark.parametrize(
    ("rule", "sources"),
    [
        ("nplurals=4; plural=(n%100==1 ? 1 : n%100==2 ? 2 : n%100==3 || n%100==4 ? 3 : 0);", "babb"),
        ("nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;", "abb"),
        ("nplurals=2; plural=1/0;", "ab"),
        ("nplurals=2; plural=(n", "ab"),
    ],
)
def test_the_form_of_the_rule_for_one_is_from_the_singular(rule: str, sources: str) -> None:
    header = f'{HEADER}"Plural-Forms: {rule}\\n"\n'
    entry = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    found = [one.source[0] for one in read(messages(entry, header), Languages("en", "sl")).segments]
    assert found == [*sources]


@pytest.mark.parametrize("plural", [True, False])
def test_a_rule_of_the_source_language_is_replaced(plural: bool) -> None:
    header = f'{HEADER}"Language: en\\n"\n"Plural-Forms: nplurals=2; "\n"plural=(n != 1);\\n"\n'
    entry = 'msgid "a"\n' + ('msgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n' if plural else 'msgstr ""\n')
    russian = Languages("en", "ru")
    new = polib.pofile(translate(messages(entry, header), *("cde" if plural else "c"), languages=russian))
    assert new.metadata["Plural-Forms"].startswith("nplurals=3; plural=(n%10==1 &&")
    assert new.metadata["Language"] == "ru"
    started = messages('msgid "x"\nmsgstr "y"\n\n' + entry, header)
    more = [None, "c", "d"] if plural else [None, "c"]
    assert "nplurals=2" in translate(started, *more, languages=russian)


def test_the_forms_of_the_header_win() -> None:
    header = HEADER + '"Plural-Forms: nplurals=3; plural=n;\\n"\n'
    entry = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    assert len(read(messages(entry, header)).segments) == 3
    with pytest.raises(DataError, match="line 6: 2 plural forms, but the header says 3"):
        read(messages(TRANSLATED_PLURAL, header))
    complete = TRANSLATED_PLURAL.replace('""', '"d"')
    assert [one.target for one in read(messages(complete, header)).segments] == [("c",), ("d",)]
    with pytest.raises(DataError, match="line 1: nplurals=0"):
        read(messages("", header.replace("nplurals=3", "nplurals=0")))


def test_a_rule_that_entries_contradict_is_not_added() -> None:
    text = messages(TRANSLATED_PLURAL)
    polish = Languages("en", "pl")
    assert [one.target for one in read(text, polish).segments] == [("c",), None]
    assert "Plural-Forms" not in translate(text, None, "d", languages=polish)
    assert "Plural-Forms" in translate(text, None, "d", languages=GERMAN)


def test_a_language_is_written_as_gettext_does() -> None:
    text = messages('msgid "a"\nmsgstr ""\n', HEADER + '"Language: \\n"\n')
    assert (
        polib.pofile(translate(text, "b", languages=Languages("en", "pt-BR"))).metadata["Language"] == "pt_BR"
    )


def test_a_file_without_header_gets_one() -> None:
    new = translate('# mine\nmsgid "a"\nmsgstr ""\n', "ä")
    catalogue = polib.pofile(new)
    assert catalogue.metadata["Language"] == "de"
    assert catalogue.metadata["Content-Type"] == "text/plain; charset=UTF-8"
    assert (catalogue[0].msgstr, catalogue[0].tcomment) == ("ä", "mine")


def test_the_header_changes_only_with_a_message() -> None:
    text = messages('msgid "a"\nmsgstr "b"\n', HEADER.replace("UTF-8", "CHARSET") + '"Language: \\n"\n')
    assert translate(text, "b") == text
    assert translate(text, "ü") == text.replace("CHARSET", "UTF-8").replace(
        "Language: ", "Language: de"
    ).replace('"b"', '"ü"')


def test_the_charset_of_the_header() -> None:
    text = messages('msgid "ä"\nmsgstr ""\n', HEADER.replace("UTF-8", "ISO-8859-1"))
    document = parse(text.encode("latin-1"), GERMAN)
    assert document.segments[0].source == ("ä",)
    assert document.render([Result(("ö",))]) == text.replace(
        'msgid "ä"\nmsgstr ""', 'msgid "ä"\nmsgstr "ö"'
    ).encode("latin-1")
    other = text.replace("ISO-8859-1", "UTF-8").replace(
        'msgstr ""\n' if False else 'msgid "ä"\nmsgstr ""', 'msgid "ä"\nmsgstr "漢"'
    )
    assert document.render([Result(("漢",))]) == other.encode()  # the header lacks it, so it changes
    comment = '# "Content-Type: text/plain; charset=ISO-8859-1\\n"\n'
    bare = messages('msgid "a"\nmsgstr ""\n', comment + HEADER.replace("charset=UTF-8", ""))
    with pytest.raises(DataError, match="ISO-8859-1 has no '漢'"):
        parse(bare.encode("latin-1"), GERMAN).render([Result(("漢",))])
    with pytest.raises(DataError, match="line 5: not UTF-8"):
        parse(messages('msgid "ä"\nmsgstr ""\n').encode("latin-1"), GERMAN)
    for name in ("nonsense", "idna", "hex"):
        with pytest.raises(DataError):
            read(text.replace("ISO-8859-1", name) + "#" + "a" * 100)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_are_kept(end: str) -> None:
    text = FILE.replace("\n", end)
    assert read(text).segments == read(FILE).segments
    new = translate(text, None, None, Result(("a\nb",), ("why",)), None)
    assert new == translate(FILE, None, None, Result(("a\nb",), ("why",)), None).replace("\n", end)


def test_comments_of_obsolete_entries_are_theirs() -> None:
    text = messages('# Gone.\n#, fuzzy\n#~| msgid "b"\n#~ msgid "a"\n#~ msgstr "b"\nmsgid "c"\nmsgstr "d"\n')
    assert read(text).segments[0].state is Status.DONE
    assert translate(text, Result(("d",), ("why",))) == text.replace(
        'msgid "c"', '# dragoman: why\n#, fuzzy\nmsgid "c"'
    )


WORDS = st.text(st.sampled_from('ab cdé漢字、-/"\\\n\t.'), max_size=150)


@given(WORDS)
def test_wrapping_is_that_of_gettext(text: str) -> None:
    written = quote(text, len("msgstr "), "\n")
    lines = written.split("\n")
    assert polib.pofile(f'{HEADER}\nmsgid "x"\nmsgstr {written}\n')[0].msgstr == text
    assert all(columns(line) <= 79 or " " not in line[1:-1].rstrip(" ") for line in lines[1:])
    assert (lines[0] == '""') == (len(lines) > 1 or not text)


LONG = "One ship after the other left the harbour in the morning and came back " * 2


def test_a_long_translation_is_wrapped_as_the_file_is() -> None:
    whole = messages(f'msgid "{LONG}"\nmsgstr ""\n')
    wrapped = messages(f'msgid {quote(LONG, 6, chr(10))}\nmsgstr ""\n')

    assert f'msgstr "{LONG}"' in translate(whole, LONG)
    assert translate(wrapped, LONG).count("\n" + quote(LONG, 7, "\n")[3:].split("\n")[0] + "\n") == 2
    no_wrap = wrapped.replace('msgid ""\n"One', '#, no-wrap\nmsgid ""\n"One')
    assert f'msgstr "{LONG}"' in translate(no_wrap, LONG)


@pytest.mark.skipif(not shutil.which("msgcat"), reason="needs gettext")
@pytest.mark.parametrize("length", range(60, 90))
def test_lines_are_as_long_as_those_of_msgcat(length: int, tmp_path: Path) -> None:
    texts = [
        "x" * length + " yyyy",
        "aa " + "x" * length + " yy",
        "漢" * (length // 2) + "字。「字」字",
        "x" * length,
    ]
    path = tmp_path / "in.po"
    path.write_text(HEADER + "".join(f'\nmsgid "{n}"\nmsgstr "{text}"\n' for n, text in enumerate(texts)))
    written = subprocess.run(["msgcat", path], capture_output=True, text=True, check=True).stdout
    ours = "".join(f'\nmsgid "{n}"\nmsgstr {quote(text, 7, chr(10))}\n' for n, text in enumerate(texts))
    assert written.partition("\n\n")[2] == ours[1:]


TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=["Cs", "Cc"])
    | st.sampled_from('\n\t"\\'),
    max_size=90,
)
ENTRIES = st.lists(
    st.tuples(TEXTS.filter(bool), TEXTS, st.none() | TEXTS, st.booleans(), TEXTS.map(str.strip)),
    unique_by=lambda entry: (entry[2], entry[0]),
    max_size=6,
)


def written_by_polib(entries: list[tuple[str, str, str | None, bool, str]], width: int) -> str:
    catalogue = polib.POFile(wrapwidth=width)
    catalogue.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Language": "de"}
    for source, target, context, fuzzy, comment in entries:
        one = polib.POEntry(msgid=source, msgstr=target, msgctxt=context, comment="".join(comment.split()))
        one.flags += ["fuzzy"] * fuzzy
        catalogue.append(one)
    return str(catalogue)


@given(ENTRIES, st.sampled_from([40, 78, 10_000]))
def test_files_of_polib(entries: list[tuple[str, str, str | None, bool, str]], width: int) -> None:
    text = written_by_polib(entries, width)
    catalogue = read(text)

    segments = catalogue.segments
    assert [(one.source[0], one.context) for one in segments] == [(one[0], one[2] or "") for one in entries]
    shown = ["" if is_blank(one[1]) and not is_blank(one[0]) else one[1] for one in entries]
    assert [one.target or ("",) for one in segments] == [(one,) for one in shown]
    assert catalogue.render([None] * len(entries)).decode() == text
    done = [Result(one.target) if one.target and one.state is Status.DONE else None for one in segments]
    assert catalogue.render(done).decode() == text


@given(ENTRIES, st.lists(TEXTS, min_size=6, max_size=6), st.booleans())
def test_polib_reads_what_is_written(
    entries: list[tuple[str, str, str | None, bool, str]], translations: list[str], doubtful: bool
) -> None:
    results: list[Result | None] = [
        Result((translation,), ("why",) * doubtful) for translation in translations[: len(entries)]
    ]
    new = read(written_by_polib(entries, 78)).render(results).decode()

    for entry, old, translation in zip(polib.pofile(new), entries, translations, strict=False):
        assert entry.msgid == old[0]
        assert entry.msgstr == old[1] == translation or entry.msgstr.strip("\n") == translation.strip("\n")
        assert ("fuzzy" in entry.flags) is doubtful
        assert ("dragoman: why" in entry.tcomment) is doubtful


@pytest.mark.parametrize(("named", "expected"), [("en", "de"), ("en_GB", "de"), ("de_AT", "de_AT")])
def test_a_header_that_names_the_source_language_gets_the_target(named: str, expected: str) -> None:
    text = messages('msgid "a"\nmsgstr ""\n', f'{HEADER}"X-Source-Language: en\\n"\n"Language: {named}\\n"\n')
    metadata = polib.pofile(translate(text, "b")).metadata
    assert (metadata["Language"], metadata["X-Source-Language"]) == (expected, "en")
    assert translate(text, None) == text


def test_a_catalogue_of_another_language_is_refused() -> None:
    text = messages('msgid "a"\nmsgstr ""\n', f'{HEADER}"Language: fr_CA\\n"\n')
    with pytest.raises(DataError, match=r"line 1: Language is 'fr_CA', not 'de'"):
        translate(text, "b")


def test_escaped_bytes_keep_a_file_in_its_charset() -> None:
    header = HEADER.replace("UTF-8", "ISO-8859-1")
    with pytest.raises(DataError, match="ISO-8859-1 has no '€'"):
        translate(messages('msgid "caf\\351"\nmsgstr ""\n', header), "10 €")
    assert "charset=UTF-8" in translate(messages('msgid "C:\\\\2019"\nmsgstr ""\n', header), "10 €")
