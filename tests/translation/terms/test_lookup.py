"""Terms in a line: whole words, their forms and capitals, the longest first."""

import unicodedata
from random import Random

import pytest

from dragoman.translation.terms.lookup import Lookup

TERMS = ["print preview", "preview", "save as", "file", "PDF", "Calc", "C++", "user's guide", "status bar"]


def found(line: str, terms: list[str] = TERMS, language: str = "en") -> list[str]:
    """The pieces of the line that are terms, each with its term if it is written in another way."""
    places = Lookup(terms, language).find(line)
    return [
        line[one.start : one.end]
        + ("" if line[one.start : one.end] == terms[one.number] else f" = {terms[one.number]}")
        for one in places
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("open the print preview now", ["print preview"]),
        ("two print previews and a preview", ["print previews = print preview", "preview"]),
        ("preview print", ["preview"]),
        ("the file's end, files' ends; (files)", ["file", "files = file", "files = file"]),
        ("profile, filet, file2 and 2file", []),
        ("file-name, log-file, file.txt and me@file have none", []),
        ("file. A file, file!", ["file", "file", "file"]),
        ("C++ code and C + + code", ["C++"]),
        ("the user\u2019s guide", ["user\u2019s guide = user's guide"]),
        ("a print\u00a0preview", ["print\u00a0preview = print preview"]),
        ("a print\tpreview", ["print\tpreview = print preview"]),
        ("printpreview", []),
        ("status bars", ["status bars = status bar"]),
        ("", []),
    ],
)  # fmt: skip
def test_words(line: str, expected: list[str]) -> None:
    assert found(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Print preview opens.", ["Print preview = print preview"]),
        ("It opens. Print preview it is: File", ["Print preview = print preview", "File = file"]),
        ("\u201cFile\u201d is in the menu", ["File = file"]),
        ("in the File menu", []),
        ("press PRINT PREVIEW or FILES", ["PRINT PREVIEW = print preview", "FILES = file"]),
        ("press PRINT preview", ["preview"]),
        ("press fILE", []),
        ("Open Print Preview", ["Print Preview = print preview"]),  # a heading
        ("Open Print Preview here", []),
        ("a pdf, a Pdf, two PDFs", ["PDFs = PDF"]),
        ("calc and CALC but Calc", ["Calc"]),
    ],
)  # fmt: skip
def test_capitals(line: str, expected: list[str]) -> None:
    assert found(line) == expected


def test_the_term_that_is_written_alike_wins() -> None:
    assert found("Word and word", ["word", "Word"]) == ["Word", "word"]
    assert found("word", ["words", "word"]) == ["word"]
    assert found("the words", ["word", "words"]) == ["words"]


def test_a_shorter_form_is_not_the_term() -> None:
    assert found("a setting", ["settings"]) == []
    assert found("die geschützten Bereiche", ["geschützter Bereich"], "de") == [
        "geschützten Bereiche = geschützter Bereich"
    ]


def test_the_longest_wins_where_terms_overlap() -> None:
    terms = ["a b", "b c d", "d e", "e f g h", "c"]
    assert found("a b c d e f g h", terms) == ["b c d", "e f g h"]
    assert found("a b c x d e", terms) == ["a b", "c", "d e"]


def test_nothing_is_found_in_placeholders() -> None:
    assert found("see %(file)s, {file}, <file>, http://a.org/file and file") == ["file"]


def test_chinese_has_no_spaces() -> None:
    assert found("打开打印预览窗口", ["打印预览", "打印"], "zh") == ["打印预览"]


@pytest.mark.parametrize(
    ("line", "term", "language"),
    [
        ("บันทึกไฟล์นี้", "ไฟล์", "th"),
        ("ບັນທຶກໄຟລ໌ນີ້", "ໄຟລ໌", "lo"),
        ("រក្សាទុកឯកសារនេះ", "ឯកសារ", "km"),
        ("ဖိုင်ကိုသိမ်းပါ", "ဖိုင်", "my"),
        ("เปิดไฟล์ PDFนี้", "ไฟล์ PDF", "th"),
        ("เปิด ไฟล์", "ไฟล์", "th"),
    ],
)
def test_scripts_of_south_east_asia_have_no_spaces(line: str, term: str, language: str) -> None:
    assert found(line, [term], language) == [term]


def test_decomposed_characters_are_the_same() -> None:
    apart = unicodedata.normalize("NFD", "Prüfung")
    (place,) = Lookup(["Prüfung"], "de").find(f"Eine {apart} ist wichtig.")
    assert place[:2] == (5, 5 + len(apart))
    assert found("Eine Prüfung", [apart], "de") == [f"Prüfung = {apart}"]


def test_an_accent_belongs_to_its_character() -> None:
    assert found("แก่", ["แก"], "th") == []


def test_a_term_without_words_is_never_found() -> None:
    assert found("a b", ["", " "]) == []


def longest_first(line: str, terms: list[str]) -> list[tuple[int, int, int]]:
    """The same by looking at every span of words, for lines in lower case without forms."""
    words = line.split(" ")
    begin = [sum(len(word) + 1 for word in words[:place]) for place in range(len(words))]
    spans = [
        (begin[i], begin[j] + len(words[j]), terms.index(" ".join(words[i : j + 1])))
        for i in range(len(words))
        for j in range(i, len(words))
        if " ".join(words[i : j + 1]) in terms
    ]
    spans.sort(key=lambda span: (span[0] - span[1], span[0]))
    kept: list[tuple[int, int, int]] = []
    for span in spans:
        if all(span[1] <= one[0] or one[1] <= span[0] for one in kept):
            kept.append(span)
    return sorted(kept)


def test_it_agrees_with_looking_at_every_span() -> None:
    random = Random(1)
    words = ["ka", "lo", "mu", "ri", "te"]
    for _ in range(200):
        terms = list({" ".join(random.choices(words, k=random.randint(1, 3))) for _ in range(6)})
        line = " ".join(random.choices(words, k=12))
        assert [tuple(one) for one in Lookup(terms, "xx").find(line)] == longest_first(line, terms)
