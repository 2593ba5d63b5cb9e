"""Placeholders are found by their form, language is not, and no text takes long."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.checks.placeholders import find_placeholders, has_language

# (text, its placeholders); those of one kind together.
FOUND: list[tuple[str, str, list[str]]] = [
    # C, Python, Objective-C, Ruby
    ("Copy %s to %d.", "printf", ["%s", "%d"]),
    ("%1$s %2$05.1f %-10s %+d %#x", "printf", ["%1$s", "%2$05.1f", "%-10s", "%+d", "%#x"]),
    ("%lu %llu %zd %hhx %jd %Lf %@", "printf", ["%lu", "%llu", "%zd", "%hhx", "%jd", "%Lf", "%@"]),
    ("%*d %.*s %-.*s %1$*2$d", "printf", ["%*d", "%.*s", "%-.*s", "%1$*2$d"]),
    ("%(name)s, %(count)03d, %(a b)r", "printf", ["%(name)s", "%(count)03d", "%(a b)r"]),
    ("%<PRIu64> %#<PRIx32>", "printf", ["%<PRIu64>", "%#<PRIx32>"]),
    ("%<name>s", "printf", ["%<name>s"]),
    ("100%% of %d%%", "printf", ["%%", "%d", "%%"]),
    ("%dx%d, %dpx, %ds, %3um, %luth", "printf", ["%d", "%d", "%d", "%d", "%3u", "%lu"]),
    ("%sRead more%s, %shere%s", "printf", ["%s", "%s", "%s", "%s"]),
    ("文件%s共%d个", "printf", ["%s", "%d"]),
    ("“%s” «%d» %s×%s", "printf", ["%s", "%d", "%s", "%s"]),
    ("%1$sВот", "printf", ["%1$s"]),
    # Qt, Boost, LibreOffice, Windows, times
    ("%1 of %2, %L3", "percent", ["%1", "%2", "%L3"]),
    ("%1 %10", "percent", ["%1", "%10"]),
    ("%1% of %2%", "percent", ["%1%", "%2%"]),
    ("%1%2", "percent", ["%1", "%2"]),
    ("%PRODUCTNAME %GENERICNAME, %PATH%", "percent", ["%PRODUCTNAME", "%GENERICNAME", "%PATH%"]),
    ("%AppData% %Name %username%", "percent", ["%AppData%", "%Name", "%username%"]),
    ("%Y-%m-%H:%M %B %-d", "percent", ["%Y", "%m", "%H", "%M", "%B", "%-d"]),
    # Braces
    ("{} {0} {name} {user.name} {a[0]} {a.b[c].d}", "brace",
     ["{}", "{0}", "{name}", "{user.name}", "{a[0]}", "{a.b[c].d}"]),
    ("{0:N2} {x:>10} {x!r} {x!s:>5} {t:%H:%M}", "brace",
     ["{0:N2}", "{x:>10}", "{x!r}", "{x!s:>5}", "{t:%H:%M}"]),
    ("{ name } { $user } { -brand } { DATE($day) }", "brace",
     ["{ name }", "{ $user }", "{ -brand }", "{ DATE($day) }"]),
    ("%{count} {имя} {my-name}", "brace", ["%{count}", "{имя}", "{my-name}"]),
    ("{{name}} {{ user.name|upper }} {% if a %} <%= b %>", "double brace",
     ["{{name}}", "{{ user.name|upper }}", "{% if a %}", "<%= b %>"]),
    ("{n, plural, one {# file} other {# {what}s}}!", "icu", ["{n, plural, one {# file} other {# {what}s}}"]),
    ("{d, date} {n,number,integer}", "icu", ["{d, date}", "{n,number,integer}"]),
    ("{n, select, a {it's '{'} other {}} end", "icu", ["{n, select, a {it's '{'} other {}}"]),
    ("{a,date}" * 3, "icu", ["{a,date}"] * 3),
    # Shells and templates
    ("${HOME} ${a.b} $(ARG1) $[x] $HOME $name $1", "dollar",
     ["${HOME}", "${a.b}", "$(ARG1)", "$[x]", "$HOME", "$name", "$1"]),
    ("#{name} @VERSION@ $t(key.of)", "dollar", ["#{name}", "@VERSION@", "$t(key.of)"]),
    # Markup
    ('<b>x</b> <br/> <br /> <a href="x>y" class=\'b\'>', "tag",
     ["<b>", "</b>", "<br/>", "<br />", '<a href="x>y" class=\'b\'>']),
    ("<0>x</0> <1/> <x id=1> <input disabled> <!-- no -->", "tag",
     ["<0>", "</0>", "<1/>", "<x id=1>", "<input disabled>", "<!-- no -->"]),
    ("<Control>n <xliff:g id=\"a\">", "tag", ["<Control>", '<xliff:g id="a">']),
    ("a &amp; b &#160; &#xA0;", "entity", ["&amp;", "&#160;", "&#xA0;"]),
    ("`ls -l` and ``a `b` c``", "code", ["`ls -l`", "``a `b` c``"]),
    (":py:func:`os.path` :ref:`x <y>` `text`_ `text`__", "code",
     [":py:func:`os.path`", ":ref:`x <y>`", "`text`_", "`text`__"]),
    (":smile: ok :+1:", "emoji", [":smile:", ":+1:"]),
    ("__init__ __NAME__", "underscores", ["__init__", "__NAME__"]),
    ("a\\nb\\t\\\"c\\\" \\u00e9 \\x41", "escape", ["\\n", "\\t", '\\"', '\\"', "\\u00e9", "\\x41"]),
    ("%D0%B0%20", "escape", ["%D0%B0%20"]),
    # Addresses
    ("See https://a.org/b?c=d#e.", "url", ["https://a.org/b?c=d#e"]),
    ("(https://a.org/x_(y)) [www.a.org/z]", "url", ["https://a.org/x_(y)", "www.a.org/z"]),
    ("<https://a.org>, “http://b.org”! ftp://c/…", "url", ["https://a.org", "http://b.org", "ftp://c/"]),
    ("请访问https://a.org获取。www.b.org。", "url", ["https://a.org", "www.b.org"]),
    ("HTTPS://A.ORG mailto:a@b.org", "url", ["HTTPS://A.ORG", "mailto:a@b.org"]),
    ("WWW.EXAMPLE.COM and Www.a.org", "url", ["WWW.EXAMPLE.COM", "Www.a.org"]),
    ("Use ssh://a.b/c, git+https://d.e or git@github.com:a/b.git.", "url",
     ["ssh://a.b/c", "git+https://d.e", "git@github.com:a/b.git"]),
    ("Call tel:+49301234.", "url", ["tel:+49301234"]),
    ("example.com", "url", ["example.com"]),
    ("docs.example.co.uk/a?b", "url", ["docs.example.co.uk/a?b"]),
    ("C:\\Users\\bob", "url", ["C:\\Users\\bob"]),
    ("Write to jo.doe+x@mail.example.com.", "email", ["jo.doe+x@mail.example.com"]),
    ("联系foo@b.com吗", "email", ["foo@b.com"]),
]  # fmt: skip

LANGUAGE = [
    "", "Hello, world.", "50 % of all", "50% off", "100%ig", "100 %ig", "um 6 %zu verringern", "50 %-a",
    "50%-kal",
    "%50'si", "yüzde %50", "20%de", "5 %Bio", "$5 million", "$1.50", "$5,000", "$10", "US$5", "$US 10",
    "$2-billion",
    "a < b and c > d", "1 <2> 3".replace("<2>", "< 2 >"), "R&D", "AT&T; yes", "10:30:00", "note: this",
    "a:b:c",
    "std::string::npos", "x : y : z", "{not a name}", "{a, b, c}", "{1, 2}", "f(x) = {x | x > 0", "} {",
    "{", "%",
    "`like this'", "``like this''", "it's 5 o'clock", "snake_case and a__b__c", "a@b", "@home", "www", "www.",
    "C\\C", "a % b", "~/file", "3 * 4", "http:", "a#b",
    "Hello.", "z.B.", "tel: 5", "One.Two", "(c) 2020", "%sort", "50 %\u00a0de", "5\u00a0% der",
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "expected"), FOUND, ids=[text for text, *_ in FOUND])
def test_placeholders_are_found(text: str, kind: str, expected: list[str]) -> None:
    found = find_placeholders(text)

    assert [one.text for one in found] == expected
    assert all(text[one.start : one.end] == one.text for one in found)
    assert {one.kind for one in found if one.text != "%d" or kind != "percent"} == {kind}


@pytest.mark.parametrize("text", LANGUAGE)
def test_language_is_not(text: str) -> None:
    assert find_placeholders(text) == []


def test_what_is_nested_is_one_span() -> None:
    text = "{n, plural, one {# of {total}} other {https://a.org %s}} and {x} %s"
    assert [one.text for one in find_placeholders(text)] == [text[:56], "{x}", "%s"]


def test_an_open_message_is_no_message() -> None:
    assert [one.text for one in find_placeholders("{n, plural, one {%s} {x}")] == ["{%s}"[1:-1], "{x}"]


_PARTS = st.sampled_from(
    ["%", "s", "d", "1", "$", "{", "}", "<", ">", "a", " ", "`", "@", ".", ":", "/", "&", ";", "\\", "_",
     "www",
     "http://", "(", ")", "[", "]", "'", '"', "=", ",", "plural", "é", "中", "\n", "\r"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(_PARTS, max_size=60).map("".join)))
def test_spans_are_in_order_and_apart(text: str) -> None:
    place = 0
    for one in find_placeholders(text):
        assert place <= one.start < one.end <= len(text)
        assert one.text == text[one.start : one.end]
        place = one.end


HOSTILE = [
    "{", "{{", "%", "%0", "%(", "%(a", "%10 ", "%1", "%A%", "%sa ", "<a ", '<a b="', "<a b='", "<a b c ",
    "<!--", "<1",
    "`a ", "``a ", "`a`b", "```", ":a", ":a ", "a@", "a@b.", "é@", "www.", "__a", "a__", " __a", "{a,plural,",
    "{a,plural,}", "{a,plural,one{", "' {a,plural,'{", "{a.", "{a[b]", "{a(", "http://a)", "http://", "$(",
    "git@", "a+", "a.", "a://", "a:\\a",
    "$A", "${",
    "&a", "\\", " ", "1.",
]  # fmt: skip


@pytest.mark.parametrize("part", HOSTILE)
def test_time_is_linear(part: str) -> None:
    """30,000 characters take a fraction of a second."""
    many = part * (30_000 // len(part))
    for text in (many, "{" + many, '<a b="' + many, "%(" + many):
        start = time.process_time()
        find_placeholders(text)
        assert time.process_time() - start < 3


@pytest.mark.parametrize("text", ["", " ", "42", "3.14 - 2", "😀 !!", "...", "§ 5", "_1_", "½", "5²", "①"])
def test_what_has_no_word_is_no_language(text: str) -> None:
    assert not has_language(text)


def test_protected_words_are_no_language() -> None:
    assert has_language("a {b}")
    assert not has_language("1 {b}", [(2, 5)])


@pytest.mark.parametrize(
    "text",
    [
        *(
            "It costs $1,234.50.",
            "It costs $1.",
            "$5 off",
            "pay $9",
            "from $1-$5",
            "$1/month",
            "$1 000",
            "$7!",
        ),
        *("US$5", "$1 a day", "Price: $1", "at 12:30:45", "on 12/24/2024", "+1-800-555-0199", "50% off"),
        *("(555) 123-4567", "2024-12-24T10:30:00Z", "the 100% and 3.5%", "from $2 to $9"),
    ],
)
def test_prices_dates_times_and_phone_numbers_are_no_directives(text: str) -> None:
    assert find_placeholders(text) == []


def test_directives_count_from_one() -> None:
    assert [one.text for one in find_placeholders("$1 edits by $2, not $4")] == ["$1", "$2"]
