"""`dragoman data dedupe`, `leak` and `split`: outputs, reports, several processes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.data import clean, dedupe, passes
from dragoman.text.corpora.context import with_context
from dragoman.text.corpora.corpus import open_corpus

NOUNS = "dog cat horse house garden river mountain village teacher baker sailor doctor farmer painter".split()
VERBS = "sees finds likes paints follows describes remembers forgets".split()
PAIRS = [
    (f"In {n} the {a} {v} the {b} behind the old {c}.", f"{n}: {a[::-1]} {v[::-1]} {b[::-1]} ({c[::-1]})")
    for n, (a, b, c, v) in enumerate(
        (NOUNS[i % 14], NOUNS[i * 5 % 13], NOUNS[i * 3 % 11], VERBS[i % 7]) for i in range(120)
    )
]
TEXT = [*PAIRS, ("", ""), ("", ""), (PAIRS[3][0].upper(), PAIRS[3][1] + "!"), PAIRS[8], PAIRS[8]]
ALONE = ("--workers", 1)


def write(name: str, pairs: list[tuple[str, str]]) -> None:
    Path(name).write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")


def read(name: str) -> list[tuple[str, str]]:
    return [(line.source, line.target) for line in open_corpus([name])]


def rows(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("all.en-de.tsv", TEXT)
    return tmp_path


def test_dedupe_keeps_one_of_each_group(dragoman_, folder):
    ended = dragoman_(
        *("data", "dedupe", "all.en-de.tsv", "-o", "out.en-de.tsv", "--report", "left.jsonl", "--json"),
        *ALONE,
    )
    assert ended.code == 0
    assert json.loads(ended.out) == {"pairs": 125, "kept": 122, "left_out": 3}
    assert ended.err == "out.en-de.tsv: 125 pairs, 122 kept, 3 left out\n"
    assert read("out.en-de.tsv") == TEXT[:122]
    assert rows(Path("left.jsonl").read_text())[1] == {
        "file": "all.en-de.tsv",
        "line": 124,
        "of": {"file": "all.en-de.tsv", "line": 9},
    }
    assert {path.name for path in folder.iterdir()} == {"all.en-de.tsv", "out.en-de.tsv", "left.jsonl"}
    assert dragoman_("data", "dedupe", "all.en-de.tsv", "-o", "x.jsonl", "--by", "exact", *ALONE).code == 0
    assert read("x.jsonl") == TEXT[:123]


def test_any_number_of_processes_writes_the_same(dragoman_, monkeypatch):
    for module in (passes, dedupe):
        monkeypatch.setattr(module, "CHUNK", 10)
    for workers in (1, 2):
        words = ("-o", f"{workers}.en-de.tsv", "--report", f"{workers}.jsonl", "--workers", workers, "-q")
        assert (
            dragoman_("data", "dedupe", "all.en-de.tsv", "--by", "near", "--side", "source", *words).code == 0
        )
    for kind in ("en-de.tsv", "jsonl"):
        assert Path(f"1.{kind}").read_bytes() == Path(f"2.{kind}").read_bytes()


def test_leak_lists_and_removes(dragoman_):
    write("test.en-de.tsv", [PAIRS[8], (PAIRS[20][0] + "!", "Anderes"), ("New.", "Neu.")])
    command = ("data", "leak", "all.en-de.tsv", "--test", "test.en-de.tsv", "-o", "clean.en-de.tsv")
    ended = dragoman_(*command, "--similarity", 0.95, *ALONE)
    assert ended.code == 0
    assert [(row["line"], row["of"]["line"], row["like"]) for row in rows(ended.out)] == [
        (9, 1, "pair"),
        (21, 2, "source"),
        (124, 1, "pair"),
        (125, 1, "pair"),
    ]
    assert ended.err.splitlines() == [
        "test.en-de.tsv: 3 pairs, 1 in the text as a pair, 1 in the text by source, 0 in the text by target",
        "clean.en-de.tsv: 121 kept, 4 left out",
    ]
    assert read("clean.en-de.tsv") == [pair for pair in TEXT if pair not in (PAIRS[8], PAIRS[20])]
    again = dragoman_(*command, "--similarity", 0.95, *ALONE, "--json", "--report", "r.jsonl")
    assert json.loads(again.out) == {
        "pairs": 125,
        "kept": 121,
        "left_out": 4,
        "test": {"pairs": 3, "pair": 1, "source": 1, "target": 0},
    }
    assert Path("r.jsonl").read_text() == ended.out


def test_leak_takes_two_test_files(dragoman_):
    for number, language in enumerate(("en", "de")):
        Path(f"test.{language}").write_text(f"{PAIRS[5][number]}\n", encoding="utf-8")
    ended = dragoman_("data", "leak", "all.en-de.tsv", "--test", "test.en", "test.de", *ALONE, "--json")
    assert json.loads(ended.out)["test"]["pair"] == 1


def test_leak_of_text_in_the_other_direction_is_refused(dragoman_):
    for number, language in enumerate(("en", "de")):
        Path(f"test.{language}").write_text(f"{PAIRS[5][number]}\n", encoding="utf-8")
    ended = dragoman_("data", "leak", "all.en-de.tsv", "--test", "test.de", "test.en", *ALONE)
    assert (ended.code, "from de to en" in ended.err) == (3, True)


def test_split_writes_parts_that_training_reads(dragoman_, folder):
    command = ("data", "split", "all.en-de.tsv", "--valid", 10, "--test", 15, "--similarity", 0.95, *ALONE)
    ended = dragoman_(*command, "-o", "parts")
    assert ended.code == 0
    names = {"train.en-de.tsv", "valid.en-de.tsv", "test.en-de.tsv", "left_out.jsonl"}
    assert {path.name for path in (folder / "parts").iterdir()} == names
    parts = {name: read(f"parts/{name}") for name in sorted(names - {"left_out.jsonl"})}
    left_out = rows(Path("parts/left_out.jsonl").read_text())
    assert sum(map(len, parts.values())) + len(left_out) == len(TEXT)
    assert len(parts["valid.en-de.tsv"]) == 10
    assert dragoman_(*command, "-o", "again", "-q").code == 0
    for name in names:
        assert (folder / "again" / name).read_bytes() == (folder / "parts" / name).read_bytes()
    ended = dragoman_(*command, "-o", "parts")
    assert (ended.code, "parts: exists already" in ended.err) == (2, True)
    assert dragoman_(*command, "-o", "other", "--format", "jsonl").code == 0
    assert read("other/test.en-de.jsonl") == parts["test.en-de.tsv"]


@pytest.mark.parametrize("command", ["split", "clean", "dedupe", "leak"])
def test_documents_end_in_tsv(dragoman_, folder, command, monkeypatch):
    whole = clean.ruled_chunks  # one document ends between two chunks
    monkeypatch.setattr(clean, "ruled_chunks", lambda *a, **options: whole(*a, **options | {"size": 3}))
    documents = [PAIRS[:3], PAIRS[3:6]]
    table = [
        json.dumps({"source": source, "target": target, "document": name})
        for name, pairs in zip("xy", documents, strict=True)
        for source, target in pairs
    ]
    Path("docs.en-de.jsonl").write_text("".join(f"{row}\n" for row in table), encoding="utf-8")
    Path("none.en-de.tsv").write_text("q\tQ\n")
    words = {
        "split": ["--valid", 0, "--test", 0, "--similarity", 1],
        "clean": ["-o", "train.en-de.tsv"],
        "dedupe": ["-o", "train.en-de.tsv"],
        "leak": ["--test", "none.en-de.tsv", "-o", "train.en-de.tsv"],
    }[command]
    words += ["-o", "parts"] if command == "split" else []
    ended = dragoman_("data", command, "docs.en-de.jsonl", *words)
    assert ended.code == 0, ended.err
    path = "parts/train.en-de.tsv" if command == "split" else "train.en-de.tsv"
    before = [context.source for line, context in with_context(open_corpus([path])) if line.source]
    one, other = ([source for source, _ in pairs] for pairs in documents)
    assert before == ["", one[0], " ".join(one[:2]), "", other[0], " ".join(other[:2])]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("dedupe all.en-de.tsv -o all.en-de.tsv", "input and output are the same file"),
        ("dedupe all.en-de.tsv -o out.txt", "pairs are written as .tsv or .jsonl"),
        ("dedupe all.en-de.tsv -o out.de-en.tsv", "from de to en by its name"),
        ("dedupe all.en-de.tsv -o x.jsonl --report x.jsonl", "two outputs are the same file"),
        ("dedupe all.en-de.tsv -o x.tsv --similarity 0", "--similarity 0"),
        ("dedupe all.en-de.tsv -o x.tsv --by magic", "--by magic"),
        ("dedupe all.en-de.tsv -o x.tsv --similarity 0.3", "--similarity without --by near"),
        ("leak all.en-de.tsv --test t.tsv -o t.tsv", "input and output are the same file"),
        ("leak all.en-de.tsv --test t.tsv --report all.en-de.tsv", "input and output are the same file"),
        ("leak all.en-de.tsv", "'--test'"),
        ("split t.tsv -o parts", "which languages are these?"),
    ],
)
def test_what_does_not_fit_is_refused(dragoman_, words, message):
    write("t.tsv", PAIRS[:3])
    ended = dragoman_("data", *words.split())
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert read("t.tsv") == PAIRS[:3]
    assert read("all.en-de.tsv") == TEXT


@pytest.mark.parametrize(
    "words",
    [("dedupe", "all.en-de.tsv"), ("leak", "all.en-de.tsv", "--test", "all.en-de.tsv")],
    ids=["dedupe", "leak"],
)
def test_a_report_that_is_a_link_to_the_output_is_refused(dragoman_, folder, words):
    write("out.tsv", [("A dog.", "Ein Hund.")])
    Path("link.jsonl").symlink_to("out.tsv")
    before = Path("out.tsv").read_bytes()
    ended = dragoman_("data", *words, "-o", "out.tsv", "--report", "link.jsonl", *ALONE)
    assert ended.code == 2
    assert "two outputs are the same file" in ended.err
    assert Path("out.tsv").read_bytes() == before
