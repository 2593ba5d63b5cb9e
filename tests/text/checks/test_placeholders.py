"""Placeholders are found by their form, language is not, and no text takes long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import is_linear

from dragoman.text.checks.placeholders import dialects, find_placeholders, has_language

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
    ("%#@dogs@ in %1$#@gardens@", "printf", ["%#@dogs@", "%1$#@gardens@"]),
    ("%.2fMB %skm %dkbps %.1fkg %.2fh %02dh %sMbit/s", "printf",
     ["%.2f", "%s", "%d", "%.1f", "%.2f", "%02d", "%s"]),
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
    ("%name sees %file; %sort", "percent", ["%name", "%file", "%sort"]),
    ("%%NAME%% %user.name%", "percent", ["%%NAME%%", "%user.name%"]),
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
    ("{$x} {@User} {x|upper} {0,-10:N2} {x:{width}}", "brace",
     ["{$x}", "{@User}", "{x|upper}", "{0,-10:N2}", "{x:{width}}"]),
    ("{{{x}}} ${{ y }} {{ t('a', {b: 1}) }} {# c #} {!! d !!} <% if a > b %> <?php e ?>", "double brace",
     ["{{{x}}}", "${{ y }}", "{{ t('a', {b: 1}) }}", "{# c #}", "{!! d !!}", "<% if a > b %>",
      "<?php e ?>"]),
    ("{n, plural, one {# file} other {# {what}s}}!", "icu", ["{n, plural, one {# file} other {# {what}s}}"]),
    ("{d, date} {n,number,integer}", "icu", ["{d, date}", "{n,number,integer}"]),
    ("{n, select, a {it's '{'} other {}} end", "icu", ["{n, select, a {it's '{'} other {}}"]),
    ("{a,date}" * 3, "icu", ["{a,date}"] * 3),
    # Shells and templates
    ("${HOME} ${a.b} $(ARG1) $[x] $HOME $name $1", "dollar",
     ["${HOME}", "${a.b}", "$(ARG1)", "$[x]", "$HOME", "$name", "$1"]),
    ("#{name} @VERSION@ $t(key.of)", "dollar", ["#{name}", "@VERSION@", "$t(key.of)"]),
    ("Hello $NAME$, $name$! @@NAME@@ @{x} ${x|upper}", "dollar",
     ["$NAME$", "$name$", "@@NAME@@", "@{x}", "${x|upper}"]),
    ('$t(key, {"count": 3}) $t(dogs, {"count": {{n}} })', "dollar",
     ['$t(key, {"count": 3})', '$t(dogs, {"count": {{n}} })']),
    # Markup
    ('<b>x</b> <br/> <br /> <a href="x>y" class=\'b\'>', "tag",
     ["<b>", "</b>", "<br/>", "<br />", '<a href="x>y" class=\'b\'>']),
    ("Use <!DOCTYPE html>", "tag", ["<!DOCTYPE html>"]),
    ("<0>x</0> <1/> <x id=1> <input disabled> <!-- no -->", "tag",
     ["<0>", "</0>", "<1/>", "<x id=1>", "<input disabled>", "<!-- no -->"]),
    ('<a href="{0}">x</a> <a href=\'%s\'> <a href="{{ u }}" b> <img src={x}/>', "tag",
     ['<a href="{0}">', "</a>", "<a href='%s'>", '<a href="{{ u }}" b>', "<img src={x}/>"]),
    ("<a href=\\\"%1$s\\\"> <a href=''{0}''> <b class={style}> <a b=\"<%= c %>\">", "tag",
     ["<a href=\\\"%1$s\\\">", "<a href=''{0}''>", "<b class={style}>", '<a b="<%= c %>">']),
    ('<a rel="b" …> <b ...> <font color=> <file name> <Foo x={() => 1}>', "tag",
     ['<a rel="b" …>', "<b ...>", "<font color=>", "<file name>", "<Foo x={() => 1}>"]),
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
    ("<https://a.org>, “http://b.org”! ftp://c/…", "url", ["<https://a.org>", "http://b.org", "ftp://c/"]),
    ("(https://{host}/a/{id}), https://b/${x}.", "url", ["https://{host}/a/{id}", "https://b/${x}"]),
    ("انظر https://a.org/b، ثم https://c.org/؟ أو https://d.org؛ https://e.org۔", "url",
     ["https://a.org/b", "https://c.org/", "https://d.org", "https://e.org"]),
    ("देखें https://a.org/b। और https://c.org॥", "url", ["https://a.org/b", "https://c.org"]),
    ("（https://a.org/b）「https://c.org」https://d.org，、https://e.org。", "url",
     ["https://a.org/b", "https://c.org", "https://d.org", "https://e.org"]),
    ("„https://a.org“ «https://b.org» ‹https://c.org›—https://d.org", "url",
     ["https://a.org", "https://b.org", "https://c.org", "https://d.org"]),
    ("ดูhttps://a.orgได้", "url", ["https://a.org"]),
    ("HTTP://EXAMPLE.COM/A", "url", ["HTTP://EXAMPLE.COM/A"]),
    ("EXAMPLE.COM", "url", ["EXAMPLE.COM"]),
    ("C:\\Program Files\\App\\x.exe", "url", ["C:\\Program Files\\App\\x.exe"]),
    ("C:\\Program Files", "url", ["C:\\Program Files"]),
    ("Open C:\\Program Files\\App\\new.exe, D:\\a or \\\\host\\share.", "url",
     ["C:\\Program Files\\App\\new.exe", "D:\\a", "\\\\host\\share"]),
    ("C:\\dogs is a folder", "url", ["C:\\dogs"]),
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
    ("Anna <anna@b.com>, Bob", "email", ["<anna@b.com>"]),
    # Names
    ("The dog :name sleeps in :place (:min-:max)", "name", [":name", ":place", ":min", ":max"]),
    ("@count dogs, @(count) and !name", "name", ["@count", "@(count)", "!name"]),
    ("###WHO### sings to #NAME#, not ###WHO####", "name", ["###WHO###", "#NAME#"]),
    ("Read [url=https://a.org]it[/url] [url={0}]", "name", ["[url=https://a.org]", "[/url]", "[url={0}]"]),
    ("Win $$100 for $$ 5, @@@it@@, $$1", "dollar", ["$$", "$$", "$1"]),
    ("@A1@@B2@ in lib@@IT@@@@IS@@.so", "dollar", ["@A1@", "@B2@", "@IT@@", "@@IS@@"]),
    ("###WHO######IT###", "name", ["###WHO###", "###IT###"]),
    ("@:garden.title @:(key) @.lower:key @:{'key'}", "name",
     ["@:garden.title", "@:(key)", "@.lower:key", "@:{'key'}"]),
    ("[[x]] [% a[0] %] [user:name] [b]x[/b] *|NAME|*", "name",
     ["[[x]]", "[% a[0] %]", "[user:name]", "[b]", "[/b]", "*|NAME|*"]),
    ("你好:name，@count个", "name", [":name", "@count"]),
    # Options, paths, words of programs
    ("Use --force, -v or --name=VALUE. (-x, --color[=WHEN])", "option",
     ["--force", "-v", "--name=VALUE", "-x", "--color[=WHEN]"]),
    ("git -m/-F, --[no-]track, [-]echo or --word= and --y= \"a b\"", "option",
     ["-m", "-F", "--[no-]track", "[-]echo", "--word=", "--y="]),
    ("See /etc/hosts, ~/.config/x, ./a, ../b and /tmp.", "path",
     ["/etc/hosts", "~/.config/x", "./a", "../b", "/tmp"]),
    ("Open src/main.py, img/a.png, README.md or *.txt, *.mov.", "path",
     ["src/main.py", "img/a.png", "README.md", "*.txt", "*.mov"]),
    ("~/file", "path", ["~/file"]),
    ("YYYY-MM-DD HH:MM:SS dd.mm.yyyy yyyyMMdd HH:mm", "identifier",
     ["YYYY-MM-DD", "HH:MM:SS", "dd.mm.yyyy", "yyyyMMdd", "HH:mm"]),
    ("h:mm:ss or [MMDDhhmm[[CC]YY][.ss]]", "identifier", ["h:mm:ss", "MMDDhhmm"]),
    ("Call Aegis::text_size(), a.b() or LC_ALL=C", "identifier",
     ["Aegis::text_size()", "a.b()", "LC_ALL=C"]),
    ("update .git/shallow", "path", [".git/shallow"]),
    ("app.menu.title os.path.join() MAX_SIZE max_file_size go()", "identifier",
     ["app.menu.title", "os.path.join()", "MAX_SIZE", "max_file_size", "go()"]),
    ("#ff00aa #FFF 0xFF v2.0-beta 1.2.3 3f2a9bc1 10.0.0.1", "identifier",
     ["#ff00aa", "#FFF", "0xFF", "v2.0-beta", "1.2.3", "3f2a9bc1", "10.0.0.1"]),
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
    "`like this'", "``like this''", "it's 5 o'clock", "snake_case and a__b__c", "a@b", "www", "www.",
    "C\\C", "a % b", "3 * 4", "http:", "a#b",
    "Hello.", "z.B.", "tel: 5", "One.Two", "(c) 2020", "50 %\u00a0de", "5\u00a0% der",
    "note:this", ":) :D :-)", "https: a", "and/or, he/she, km/h, 24/7, input/output",
    "well-known -- or not -", "- A dog", "-A dog", "Wow! Yes!", "#1, # 2", "[1] [a] (b)",
    "e.g. this, i.e.that",
    "U.S.A. z.B.",     "E_xit", "Cu_t", "m/s", "M/M", "24.12.2026", "2.147.483.648", "1,000.5",
    "5th of May 1990s",
    "decade", "100 %ig",     "Schüler:innen", "a ~ b", "~5", "!", "!!", "$5$", "x = y", "R2 D2 MP3", "iPhone",
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
    for begin in ("", "{", '<a b="', "%("):
        assert is_linear(lambda n, begin=begin: find_placeholders(begin + part * (n // len(part))), 3000)


HOSTILE_WORDS = [
    "--a", "--a=", "a/", "/a", "a.a", "[[a", "[%", "[%a", "#a#", "@a", "@a.", "@(a", "~/", "a_", "A_", "A",
    "0a",     "<?", "<%a", "<a {", "<a '\"", "{#a", "{{a}", "{{{a", "{a:{b}", "{a|", "%%A",
    "YYYY-", "YYYYMM", "$t({a}",
    "1.1.", "11", "v1", "\\\\a\\", "C:\\a b\\", "[url=", "a.b(", "a+", "a中", "http://{a}", "<http://",
]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("part", HOSTILE_WORDS)
def test_time_is_linear_with_words_of_programs(part: str) -> None:
    for begin in ("", "$t("):
        assert is_linear(lambda n, begin=begin: find_placeholders(begin + part * (n // len(part))), 1500)


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


# A flag of gettext, a message, the directives that its program reads in it
DIRECTIVES = [
    ("c", "%cx, % d and 5%% of %<PRIu64>, %", ["%c", "% d", "%%", "%<PRIu64>", "%"]),
    ("c", '<a href="%s">%ss</a>', ['<a href="%s">', "%s", "</a>"]),
    ("python", "%(name)ss and %.1fkg, %sx", ["%(name)s", "%.1f", "%s"]),
    ("python-brace", "{a}s {{b}} {c:{d}} }", ["{a}", "{{b}}", "{c:{d}}", "}"]),
    ("php", "%'x10dy, %2$skm", ["%'x10d", "%2$s"]),
    ("objc", "%1$@s and %@", ["%1$@", "%@"]),
    ("qt", "%1st and %L2nd of 100%", ["%1", "%L2"]),
    ("qt-plural", "%n dog(s)", ["%n"]),
    ("kde-kuit", "<filename>%1s</filename>", ["<filename>", "%1", "</filename>"]),
    ("boost", "%1%st %|2$d|x", ["%1%", "%|2$d|"]),
    ("lua", "%qx", ["%q"]),
    ("javascript", "%jx %d", ["%j", "%d"]),
    ("perl", "%vdx", ["%vd"]),
    ("perl-brace", "{a}b { c", ["{a}"]),
    ("csharp", "{0:N2}x {{", ["{0:N2}", "{{"]),
    ("sh", "$nameless ${b}s", ["$nameless", "${b}"]),
    ("tcl", "%ldx", ["%ld"]),
    ("ruby", "%<a>dx %{b}s", ["%<a>d", "%{b}"]),
    ("object-pascal", "%1:sx", ["%1:s"]),
    ("gcc-internal", "%<x%> %qEs", ["%<", "%>", "%qE"]),
    ("lisp", "~ax ~5d", ["~a", "~5d"]),
    ("ycp", "%1s %2", ["%1", "%2"]),
    ("go", "%[1]dx", ["%[1]d"]),
    ("rust", "{:>5}x", ["{:>5}"]),
]


@pytest.mark.parametrize(("flag", "text", "expected"), DIRECTIVES, ids=[flag for flag, *_ in DIRECTIVES])
def test_a_flag_makes_every_directive_count(flag: str, text: str, expected: list[str]) -> None:
    assert [one.text for one in find_placeholders(text, (f"{flag}-format",))] == expected


def test_a_flag_may_say_that_no_program_reads_a_message() -> None:
    assert dialects(("no-c-format", "fuzzy", "possible-python-format", "java-format")) == ("python",)
    assert find_placeholders("100 %cx", ("no-c-format",)) == []
    assert [one.text for one in find_placeholders("100 %cx", ("c-format",))] == ["%c"]


@pytest.mark.thorough
@pytest.mark.parametrize("flag", ["c", "php", "python-brace", "boost", "lisp"])
@pytest.mark.parametrize("part", ["%<a>", "%[", "{", "{a", "'", "%|", "~1,", "<a %s"])
def test_time_is_linear_with_a_flag(flag: str, part: str) -> None:
    assert is_linear(lambda n: find_placeholders(part * (n // len(part)), (f"{flag}-format",)), 1500)
