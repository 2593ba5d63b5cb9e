from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from dragoman.base.errors import DataError
from dragoman.documents.edits import PartsDocument
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Result, text_of
from dragoman.documents.strings.yaml import parse

HOSTILE = (
    "en:\n" + "  a: &a x y\n  b: *a\n" * 2000,
    "en: {a: " + "x, " * 5_000 + "}\n",
    "en:\n  a: |" + "\n" * 50_000 + "    Text here\n",
    "a: " + "a" * 100_000 + "\nb: " + "a/" * 50_000 + "-a" * 20_000 + " 1\n",
    "en:\n  a: '" + "x y\n\n    " * 10_000 + "'\n",
)
_TEXTS = st.text("ab Zé:#'\"\\-\n,[]{}%&*!|>?@`~=\t\u2028\U0001f600", min_size=1, max_size=30).filter(
    lambda text: bool(text.strip())
)


@st.composite
def locale_files(draw: st.DrawFn) -> bytes:
    """Files of Rails, as a library writes them in some style."""
    values = draw(st.lists(_TEXTS, min_size=1, max_size=4))
    lists = draw(st.booleans())
    table = {"en": values if lists else {f"k{n}": one for n, one in enumerate(values)}}
    if lists:
        table = {"en": {"list": values}}
    text = yaml.safe_dump(
        table,
        default_style=draw(st.sampled_from([None, '"', "'", "|", ">"])),
        default_flow_style=draw(st.booleans()),
        allow_unicode=draw(st.booleans()),
        width=draw(st.sampled_from([20, 80])),
        indent=draw(st.sampled_from([2, 4])),
    )
    return str(text).encode()


def read(text: str, target: str = "de", source: str = "en") -> PartsDocument:
    return parse(text.encode(), Languages(source, target))


def sources(text: str, target: str = "de") -> list[str]:
    return [text_of(one.source) for one in read(text, target).segments]


def translate(text: str, *translations: str | None, target: str = "de") -> str:
    document = read(text, target)
    return document.render([None if one is None else Result((one,)) for one in translations]).decode()


def loaded(text: str) -> Any:
    """As PyYAML reads it, which must be as ruamel.yaml does in YAML 1.1."""
    theirs: Any = YAML(typ="safe", pure=True)
    theirs.version = (1, 1)
    theirs.allow_duplicate_keys = True
    value = yaml.safe_load(text)
    assert theirs.load(text) == value
    return value


def shape(data: bytes) -> object:
    """The values of the only language, without their case."""
    [value] = yaml.safe_load(data.decode()).values()
    return str(value).casefold()


FILE = """\
# A locale.
en:
  title: &title The old boat  # in the header
  again: *title
  quoted: 'It''s here'
  double: "Two\\nlines"
  folded: >-
    A long text that is folded over
    several lines.

    And another paragraph.
  literal: |
    First line.
    Second line.

  # An array.
  days: [Sunday, "Monday"]
  order: [ :year, :month, :day ]
  colour: !ruby/symbol red
  count: 12
  on: yes
  nothing: ~
  when: 2020-01-01
  date:
    formats:
      default: "%d %B at %H"
    day_names:
    - Sunday
  number:
    format: {delimiter: ",", unit: "$ each"}
"""


def test_strings_of_a_locale_are_found_and_all_else_stays() -> None:
    assert sources(FILE) == [
        "The old boat",
        "It's here",
        "Two\nlines",
        "A long text that is folded over several lines.\nAnd another paragraph.",
        "First line.\nSecond line.\n",
        "Sunday",
        "Monday",
        "Sunday",
    ]
    new = translate(
        FILE,
        "Das alte Boot",
        "Da ist's",
        "Zwei\nZeilen",
        "Ein langer Text, der über mehrere Zeilen geht.\nUnd noch ein Absatz.",
        "Erste Zeile.\nZweite: Zeile.\n",
        "Sonntag",
        "Montag",
        "Sonntag",
    )
    assert new == FILE.replace("en:\n", "de:\n").replace("The old boat", "Das alte Boot").replace(
        "'It''s here'", "'Da ist''s'"
    ).replace("Two\\nlines", "Zwei\\nZeilen").replace(
        "    A long text that is folded over\n    several lines.\n\n    And another paragraph.",
        "    Ein langer Text, der über mehrere\n    Zeilen geht.\n\n    Und noch ein Absatz.",
    ).replace("First line.\n    Second line.", "Erste Zeile.\n    Zweite: Zeile.").replace(
        "Sunday", "Sonntag"
    ).replace("Monday", "Montag")
    plain = "\n".join(line for line in new.splitlines() if "order:" not in line and "!ruby" not in line)
    assert loaded(plain)["de"]["again"] == "Das alte Boot"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Ja: nein", '"Ja: nein"'),
        ("Nr. #5", '"Nr. #5"'),
        ("C# und D", "C# und D"),
        ("Text # 5", '"Text # 5"'),
        ("Am Ende:", '"Am Ende:"'),
        ("yes", '"yes"'),
        ("Nein", "Nein"),
        ("no", '"no"'),
        ("null", '"null"'),
        ("12", '"12"'),
        ("1:30", '"1:30"'),
        ("2020-01-01", '"2020-01-01"'),
        ("- eins", '"- eins"'),
        ("%{name} ist da", '"%{name} ist da"'),
        ("@wir", '"@wir"'),
        ("*so*", '"*so*"'),
        ("„Zitat“", "„Zitat“"),
        ("« Non »", "« Non »"),
        ('Ein "Wort"', 'Ein "Wort"'),
        ('"Wort" so', '"\\"Wort\\" so"'),
        (" so", '" so"'),
        ("a\nb", '"a\\nb"'),
        ("Tab\there", '"Tab\\there"'),
        ("a\u2028b", '"a\\Lb"'),
        ("{x}", '"{x}"'),
        ("<<", '"<<"'),
        ("", '""'),
        ("http://a.de", "http://a.de"),
    ],
)
def test_a_plain_text_is_quoted_only_if_it_must_be(text: str, written: str) -> None:
    new = translate("en:\n  a: One text  # why\n  b: c\n", text, None)
    assert new == f"de:\n  a: {written}  # why\n  b: c\n"
    assert loaded(new) == {"de": {"a": text, "b": "c"}}


def test_flow_collections_quote_their_own_marks() -> None:
    new = translate("en: {a: One text, b: [Two, 'x y']}\n", "Eins, zwei", "A]", "it's, or")
    assert new == """de: {a: "Eins, zwei", b: ["A]", 'it''s, or']}\n"""
    assert loaded(new) == {"de": {"a": "Eins, zwei", "b": ["A]", "it's, or"]}}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_plurals_get_the_keys_of_the_target(end: str) -> None:
    text = "en:\n  dogs:\n    # none\n    one: One dog\n    other: '%{count} dogs'  # many\n  x: The end\n"
    text = text.replace("\n", end)
    new = translate(text, "Pies", "psy", "psów", "psa", None, target="pl")
    lines = "    few: 'psy'\n    many: 'psów'\n    other: 'psa'"
    assert new == text.replace("en:", "pl:").replace("One dog", "Pies").replace(
        "    other: '%{count} dogs'", lines.replace("\n", end)
    )
    assert [*loaded(new)["pl"]["dogs"]] == ["one", "few", "many", "other"]


def test_plurals_in_one_line_in_blocks_and_with_aliases() -> None:
    text = "en:\n  a: {one: A dog, other: '%{count} dogs'}\n"
    new = translate(text, None, "psy", "psów", None, target="pl")
    assert new == text.replace("en:", "pl:").replace("other:", "few: 'psy', many: 'psów', other:")
    text = "en:\n  a:\n    one: A dog\n    other: >-\n      Many\n      dogs\n"
    new = translate(text, None, "wiele psów", None, None, target="pl")
    assert new.endswith(
        "    one: A dog\n    few: >-\n      wiele psów\n    other: >-\n      Many\n      dogs\n"
    )
    text = "en:\n  a:\n    one: &x A dog\n    few: *x\n    other: &y Dogs here\n  b: *y\n"
    new = translate(text, None, "psów", None, target="pl")
    assert "    many: psów\n    other: &y Dogs here\n" in new
    assert loaded(new)["pl"]["b"] == "Dogs here"


@pytest.mark.parametrize(
    ("key", "target", "expected"),
    [
        ("en", "de", "de"),
        ("en-GB", "pt-BR", "pt-BR"),
        ("en_US", "pt-BR", "pt_BR"),
        ('"en"', "de", '"de"'),
        ("&en en", "de", "&en de"),
        ("en", "no", '"no"'),
        ('"\\x65n"', "de", '"de"'),
        ("&a en", "de", "&a de"),
        ("'en'", "zh-Hant", "'zh-Hant'"),
    ],
)
def test_the_name_of_the_language_becomes_the_target(key: str, target: str, expected: str) -> None:
    assert translate(f"---\n{key}:\n  a: One text\n", "x", target=target) == f"---\n{expected}:\n  a: x\n"


def test_other_languages_of_a_file_stay() -> None:
    text = "fr:\n  a: Un texte\nen:\n  a: One text\n"
    assert translate(text, "Ein Text") == "fr:\n  a: Un texte\nde:\n  a: Ein Text\n"
    assert sources("de:\n  a: Ein Text\n") == ["Ein Text"]
    with pytest.raises(DataError, match="line 3: the file has both 'en' and 'de'"):
        read("en:\n  a: One text\nde:\n  a: Ein Text\n")


def test_each_document_of_a_stream_is_renamed() -> None:
    text = "%YAML 1.1\n---\nen:\n  a: One text\n...\n---\nen: {b: Two}\n"
    assert translate(text, "x", "y").count("de:") == 2


def test_in_other_files_what_looks_like_language_is_translated() -> None:
    text = """\
key: The dog sleeps
title: Hello
theme: dark
image: node:20
url: https://example.org/a b
class: MyClass
debug: DEBUG
list: [Apples, pears and figs, x_y]
run: npm run build
script:
  - make all the things
flags: ls --all here
shell: |
  cd build && make install
price: 5
words: 今日は
nested:
  - label: Save as…
    description: >
      Saves the file
      under a name.
"""
    assert sources(text) == [
        "The dog sleeps",
        "Hello",
        "Apples",
        "pears and figs",
        "今日は",
        "Save as…",
        "Saves the file under a name.\n",
    ]
    assert translate("key: The dog sleeps", "Der Hund schläft") == "key: Der Hund schläft"


def test_in_a_file_of_settings_single_words_stay() -> None:
    text = "mode: Debug\nsize: 5\nuser: root\nformat: json\nname: The old boat\nengine: sqlite\n"
    assert sources(text) == ["The old boat"]


@pytest.mark.thorough
@given(locale_files(), st.data())
def test_any_text_can_be_written_in_any_style(data: bytes, draws: st.DataObject) -> None:
    """PyYAML reads each text that was written, but for spaces and line ends at the edges of a block."""
    document = read(data.decode())
    new = [draws.draw(_TEXTS) for _ in document.segments]
    written = document.render([Result((one,)) for one in new]).decode()
    [found] = loaded(written).values()
    values = found["list"] if "list" in found else [*found.values()]
    in_blocks = "|" in data.decode() or ">" in data.decode()
    for value, text in zip(values, new, strict=True):
        if in_blocks:
            assert [*map(str.strip, value.strip().splitlines())] == [
                *map(str.strip, text.strip().splitlines())
            ]
        else:
            assert value == text


def test_errors_name_the_line_of_bad_files() -> None:
    for text, line in (("a: b\nc: [d", 2), ("a:\n  - b\n c: d\n", 3), ("a: '\\x'\nb: \"\\x\"\n", 2)):
        with pytest.raises(DataError, match=rf"line {line}: not YAML") as error:
            read(text)
        assert error.value.hint
    with pytest.raises(DataError, match="line 2: YAML has no such"):
        read("a: b\nc: \x07\n")
    with pytest.raises(DataError, match="nested more than 200 deep"):
        read("[" * 300)


def test_descriptions_are_for_people_below_any_key() -> None:
    text = (
        "inputs:\n  path:\n    description: Where to write, as with --out\n    default: ./a b\n"
        "paths:\n  /nets:\n    get:\n      summary: List\n      parameters:\n      - name: url\n"
        "        example: two nets\n        enum: [a net, two nets]\n"
    )
    assert sources(text) == ["Where to write, as with --out", "List", "two nets"]


def test_a_sentence_below_the_key_of_a_name_is_text() -> None:
    text = (
        "form:\n  url: Enter the address\n  image: old/boat of mine\n  if: a == b c\n  run: Echo the boat\n"
    )
    text += "hint: Use --force to move ${boat}\nbuild: make --all of it\n"
    assert sources(text) == ["Enter the address", "Use --force to move ${boat}"]


def test_two_halves_are_one_character() -> None:
    assert sources('a: "The dog \\ud83d\\ude00 sleeps"\n') == ["The dog \U0001f600 sleeps"]


def test_plural_forms_are_added_even_if_they_stay_as_they_are() -> None:
    file = "en:\n  a: Dogs bark\n  b:\n    one: '%{count} km'\n    other: '%{count} km'\n"
    new = translate(file, "Psy szczekaj\u0105", *["%{count} km"] * 4, target="pl")
    assert loaded(new)["pl"]["b"] == dict.fromkeys(("one", "few", "many", "other"), "%{count} km")


def test_explicit_keys_get_no_more_forms() -> None:
    new = translate("en:\n  ? one\n  : A dog\n  ? other\n  : Many dogs\n", "Pies", "Psy", target="pl")
    assert loaded(new) == {"pl": {"one": "Pies", "other": "Psy"}}
