"""`dragoman data look`: the table, the document, the page, and what is refused."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

WITHOUT = re.compile("warning: without .*\n")  # a library
PAIRS = [
    ("The dog sleeps.", "Der Hund schläft."),
    ("The cat sees the dog.", "Die Katze sieht den Hund."),
    ("The dog sleeps.", "Der Hund schläft."),
    ("See <b>this</b>", "Sieh dies"),
]
TSV = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
PO = """msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgid "The dog sleeps."
msgstr "Der Hund schläft."

msgid "not yet"
msgstr ""
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "all.en-de.tsv").write_text(TSV, encoding="utf-8")
    for side, name in enumerate(("text.en", "text.de")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_short_table(dragoman_, folder):
    ended = dragoman_("data", "look", "all.en-de.tsv", "--workers", "1", "-q")

    assert (ended.code, WITHOUT.sub("", ended.err)) == (0, "")
    rows = [line.split("  ") for line in ended.out.splitlines()]
    rows = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert rows[0] == ["all.en-de.tsv: 4 pairs"]
    assert ["words, source", "13", "3.25", "5"] in rows
    assert ["words, target", "13", "3.25", "5"] in rows
    assert ["short", "off"] not in rows
    assert ["empty", "0 (0 %)", "above 0"] in rows
    assert ["equal pairs", "1 (25 %)"] in rows
    assert max(map(len, ended.out.splitlines())) <= 100


def test_one_document_of_json(dragoman_, folder):
    ended = dragoman_("data", "look", "all.en-de.tsv", "--json", "-q")

    assert (ended.code, WITHOUT.sub("", ended.err)) == (0, "")
    table = json.loads(ended.out)
    assert (table["pairs"], table["languages"]) == (4, ["en", "de"])
    assert (table["kinds"]["equal pairs"]["counts"][0], table["kinds"]["equal pairs"]["counts"][-1]) == (3, 1)
    assert table["kinds"]["equal pairs"]["examples"][-1] == [["all.en-de.tsv", 3, *PAIRS[2]]]


@pytest.mark.parametrize("kind", ["two files", "gzip", "jsonl", "stdin", "pattern"])
def test_kinds_of_input_say_the_same(dragoman_, folder, kind):
    (folder / "all.tsv.gz").write_bytes(gzip.compress(TSV.encode()))
    (folder / "all.jsonl").write_text(
        "".join(json.dumps(dict(zip(("en", "de"), pair, strict=True))) + "\n" for pair in PAIRS)
    )
    words = {
        "two files": ["text.en", "text.de"],
        "gzip": ["all.tsv.gz"],
        "jsonl": ["all.jsonl"],
        "stdin": ["-"],
        "pattern": ["text.e*", "text.d*"],
    }
    codes = ("--source-language", "en", "--target-language", "de")
    expected, found = (
        json.loads(dragoman_("data", "look", *names, "--json", *codes, stdin=TSV.encode()).out)
        for names in (["all.en-de.tsv"], words[kind])
    )

    for key in ("pairs", "languages", "terms"):
        assert found[key] == expected[key]
    for group in ("lengths", "kinds", "filters"):
        counts = [{name: one["counts"] for name, one in table[group].items()} for table in (expected, found)]
        assert counts[0] == counts[1]


def test_a_catalogue(dragoman_, folder):
    (folder / "de.po").write_text(PO, encoding="utf-8")
    codes = ("--source-language", "en", "--target-language", "de")

    ended = dragoman_("data", "look", "de.po", "--json", *codes)

    assert json.loads(ended.out)["pairs"] == 1
    assert dragoman_("data", "look", "de.po").code == 2


def test_a_page_with_another_text_beside(dragoman_, folder):
    ended = dragoman_(
        "data", "look", "all.en-de.tsv", "--against", "text.en", "--against", "text.de", "-o", "x.html"
    )

    assert (ended.code, ended.out) == (0, "")
    assert WITHOUT.sub("", ended.err) == "x.html: 8 pairs looked at\n"
    page = (folder / "x.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.count('"sides":["source","target"],"pairs":4,') == 2


def test_one_file_of_lines_is_looked_at_alone(dragoman_, folder):
    ended = dragoman_("data", "look", "text.de")

    assert ended.code == 0
    assert ended.out.startswith("text.de: 4 lines\n")
    assert "equal sources" in ended.out
    assert "equal pairs" not in ended.out


def test_only_blank_lines(dragoman_, folder):
    (folder / "blank.en-de.tsv").write_text("\t\n\t\n")

    ended = dragoman_("data", "look", "blank.en-de.tsv", "-o", "x.html")

    assert ended.code == 3
    assert ended.err.splitlines()[0] == "error: blank.en-de.tsv: only blank lines"
    assert not (folder / "x.html").exists()


def test_terms_need_languages(dragoman_, folder):
    (folder / "terms.csv").write_text("dog,Hund\n")
    (folder / "x.tsv").write_text(TSV, encoding="utf-8")

    refused = dragoman_("data", "look", "x.tsv", "--terms", "terms.csv")
    ended = dragoman_("data", "look", "all.en-de.tsv", "--terms", "terms.csv", "--json")

    assert refused.code == 2
    assert refused.err.startswith("error: x.tsv: terms of which languages?")
    assert json.loads(ended.out)["terms"] == [["dog", True, 3]]


def test_rules_set_the_limits(dragoman_, folder):
    (folder / "rules.toml").write_text("[filters]\nlong = 2\ncopied = false\nempty = true\n")

    table = json.loads(dragoman_("data", "look", "all.en-de.tsv", "--rules", "rules.toml", "--json").out)

    limits = {name: one["limit"] for name, one in table["filters"].items()}
    assert (limits["long"], limits["copied"], limits["empty"]) == (2, None, 0)


@pytest.mark.parametrize(
    "text",
    [
        "[filters]\nlonk = 2\n",
        "[filters]\nlong = 'x'\n",
        "filters = 3\n",
        "[filters]\nlong = nan\n",
        "[[",
        "",
    ],
)
def test_rules_that_cannot_be_used(dragoman_, folder, text):
    if text:
        (folder / "rules.toml").write_text(text)

    ended = dragoman_("data", "look", "all.en-de.tsv", "--rules", "rules.toml")

    assert ended.code in (2, 3)
    assert ended.err.startswith("error: rules.toml")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["all.en-de.tsv", "-o", "all.en-de.tsv"], "all.en-de.tsv: input and output are the same file"),
        (["all.en-de.tsv", "--workers", "0"], "--workers 0 cannot be used"),
        (["all.en-de.tsv", "--against", "nowhere.tsv"], "nowhere.tsv: no such file"),
        (["all.en-de.tsv", "--terms", "nowhere.csv"], "nowhere.csv"),
        (["all.en-de.tsv", "--against", "text.de", "-o", "x.html"], "pairs beside one file of lines"),
        (["text.de", "--against", "all.en-de.tsv"], "pairs beside one file of lines"),
        (["all.en-de.tsv", "-o", "."], "."),
    ],
)
def test_what_is_refused(dragoman_, folder, words, message):
    ended = dragoman_("data", "look", *words)

    assert ended.code in (1, 2, 3)
    assert ended.out == ""
    assert message in ended.err.splitlines()[0]
    assert (folder / "all.en-de.tsv").read_text(encoding="utf-8") == TSV
