"""`dragoman data clean`: what it writes, its report, stops in between, and what is refused."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from dragoman.data import clean as module
from dragoman.data import passes

GOOD = [(f"The dog number {n} sleeps.", f"Der Hund Nummer {n} schläft.") for n in range(40)]
LONG = "The old dog of the neighbours sleeps in the shadow of the house"
DIRTY = {
    3: ("A dog.", ""),
    7: (LONG, LONG),
    12: ("Cats &amp; dogs.", "Katzen  und Hunde."),
    20: ("The dog sleeps.", "Der Hund Hund Hund Hund Hund Hund Hund Hund Hund Hund schläft."),
    33: ("A dog sleeps.", "Ein Hund schla\u0308ft."),
}
TEXT = [DIRTY.get(number, pair) for number, pair in enumerate(GOOD, 1)]
RULES = "[filters]\nlanguage = false\n[repairs]\nmojibake = false\n"  # without optional libraries
COMMAND = ("data", "clean", "web.en-de.tsv", "--rules", "rules.toml", "--workers", 1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "web.en-de.tsv").write_text(tsv(TEXT), "utf-8")
    (tmp_path / "rules.toml").write_text(RULES, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tsv(pairs: list[tuple[str, str]]) -> str:
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


def small_chunks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    whole = module.ruled_chunks
    monkeypatch.setattr(module, "ruled_chunks", lambda *a, skip=0, **_: whole(*a, skip=skip, size=size))


def test_every_change_is_a_line_of_the_report(dragoman_, folder) -> None:
    ended = dragoman_(*COMMAND, "-o", "clean.en-de.tsv", "--json")

    assert ended.code == 0, ended.err
    repaired = {12: ("Cats & dogs.", "Katzen und Hunde."), 33: ("A dog sleeps.", "Ein Hund schläft.")}
    kept = [repaired.get(n, pair) for n, pair in enumerate(TEXT, 1) if n not in (3, 7, 20)]
    assert Path("clean.en-de.tsv").read_text("utf-8") == tsv(kept)
    assert json.loads(ended.out) == {
        "pairs": 40,
        "kept": 37,
        "dropped": 3,
        "repaired": 2,
        "filters": {"copied": 1, "empty": 1, "repetition": 1},
        "also": {"truncated": 1},
        "repairs": {"entities": 1, "spaces": 1, "unicode": 1},
    }
    rows = [
        *map(json.loads, gzip.decompress(Path("clean.en-de.tsv.report.jsonl.gz").read_bytes()).splitlines())
    ]
    assert [(row["file"], row["line"]) for row in rows] == [("web.en-de.tsv", n) for n in sorted(DIRTY)]
    assert [row["what"] for row in rows] == ["dropped", "dropped", "repaired", "dropped", "repaired"]
    assert [tuple(row["before"]) for row in rows] == [DIRTY[n] for n in sorted(DIRTY)]
    assert rows[2]["repairs"] == ["entities", "spaces"]
    assert tuple(rows[2]["after"]) == repaired[12]
    assert next(iter(rows[1]["filters"])) == "copied"


def test_clean_text_stays_byte_for_byte(dragoman_, folder) -> None:
    Path("web.en-de.tsv").write_text(tsv(GOOD), "utf-8")
    ended = dragoman_(*COMMAND, "-o", "clean.en-de.tsv", "--report", "report.jsonl")

    assert ended.code == 0
    assert Path("clean.en-de.tsv").read_bytes() == Path("web.en-de.tsv").read_bytes()
    assert Path("report.jsonl").read_bytes() == b""
    assert "40 pairs, 40 kept" in ended.err
    assert "pairs/s on one core" in ended.err


def test_a_stopped_command_writes_the_same_bytes(dragoman_, folder, monkeypatch) -> None:
    small_chunks(monkeypatch, 4)
    assert dragoman_(*COMMAND, "-o", "whole.en-de.tsv", "--report", "whole.jsonl.gz").code == 0
    whole, calls = module.cleaned, []

    def stopping(*words, **options):
        calls.append(1)
        if len(calls) in (4, 8):
            raise KeyboardInterrupt
        return whole(*words, **options)

    monkeypatch.setattr(module, "cleaned", stopping)
    command = (*COMMAND, "-o", "clean.en-de.tsv", "--report", "report.jsonl.gz")
    assert [dragoman_(*command).code for _ in range(2)] == [130, 130]
    assert not Path("clean.en-de.tsv").exists()
    assert not Path("report.jsonl.gz").exists()
    ended = dragoman_(*command)

    assert ended.code == 0
    assert ended.err.startswith("clean.en-de.tsv: resuming after pair 24\n")
    assert Path("clean.en-de.tsv").read_bytes() == Path("whole.en-de.tsv").read_bytes()
    assert Path("report.jsonl.gz").read_bytes() == Path("whole.jsonl.gz").read_bytes()
    assert not [*folder.glob("*.unfinished*")]


@pytest.mark.slow
def test_two_workers_write_what_one_writes(dragoman_, folder, monkeypatch) -> None:
    small_chunks(monkeypatch, 4)
    monkeypatch.setattr(passes, "ALONE", 3)
    for workers in (1, 2):
        output = ("-o", f"{workers}.en-de.tsv", "--report", f"{workers}.jsonl")
        assert dragoman_(*COMMAND[:-1], workers, *output).code == 0

    assert Path("1.en-de.tsv").read_bytes() == Path("2.en-de.tsv").read_bytes()
    assert Path("1.jsonl").read_bytes() == Path("2.jsonl").read_bytes()


def test_shards_have_rules_by_their_names(dragoman_, folder) -> None:
    Path("rules.toml").write_text(RULES + '[corpora."web*".filters]\ncopied = false\n')
    Path("news.en-de.tsv").write_text(tsv(TEXT), "utf-8")
    words = (
        "data",
        "clean",
        "*.en-de.tsv",
        "--rules",
        "rules.toml",
        "-o",
        "out.jsonl",
        "--report",
        "r.jsonl",
    )
    assert dragoman_(*words).code == 0

    rows = [json.loads(row) for row in Path("r.jsonl").read_text("utf-8").splitlines()]
    assert [row["file"] for row in rows if "copied" in row.get("filters", ())] == ["news.en-de.tsv"]
    assert Path("out.jsonl").read_text("utf-8").count("\n") == 37 + 38


def test_a_page_shows_examples(dragoman_, folder) -> None:
    Path("web.en-de.tsv").write_text(tsv([*TEXT, ("<script>x</script>", "")]), "utf-8")
    assert dragoman_(*COMMAND, "-o", "clean.en-de.tsv", "--page", "page.html").code == 0

    page = Path("page.html").read_text("utf-8")
    assert "<h2>copied</h2>" in page
    assert "Cats &amp;amp; dogs." in page
    assert "Cats &amp; dogs." in page
    assert "<script>" not in page


def test_damage_in_the_middle_is_named_and_nothing_is_written(dragoman_, folder) -> None:
    Path("web.en-de.tsv").write_bytes(tsv(TEXT).encode() + b"\xff\tx\n")
    before = {path.name for path in folder.iterdir()}
    ended = dragoman_(*COMMAND, "-o", "clean.en-de.tsv")

    assert ended.code == 3
    assert "web.en-de.tsv:41" in ended.err
    assert {path.name for path in folder.iterdir()} == before


def test_the_page_is_accessible_and_fits_a_phone(browser, dragoman_, folder) -> None:
    from axe_playwright_python import sync_playwright as axe

    assert dragoman_(*COMMAND, "-o", "clean.en-de.tsv", "--page", "page.html").code == 0
    for scheme in ("light", "dark"):
        size = {"width": 360, "height": 800}
        page = browser.new_page(color_scheme=scheme, viewport=size, bypass_csp=True)
        page.set_default_timeout(120_000)
        page.goto((folder / "page.html").as_uri())
        found = axe.Axe().run(page).response["violations"]
        wide = page.evaluate("document.documentElement.scrollWidth")
        page.close()
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
        assert wide <= 360


def test_sections_and_languages_without_effect_are_told(dragoman_, folder) -> None:
    Path("rules.toml").write_text('[corpora."books*".filters]\nlong = 9\n[repairs]\nmojibake = false\n')

    ended = dragoman_(*COMMAND, "-o", "clean.tsv", "--source-language", "tlh")

    assert 'rules.toml: [corpora."books*"] applies to none of this text' in ended.err
    assert "no filter checks the language tlh: py3langid does not know it" in ended.err


def test_the_default_rules(dragoman_) -> None:
    ended = dragoman_("data", "clean", "--show-rules")

    assert ended.code == 0
    assert "[filters]" in ended.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "text and an output are needed"),
        (("-o", "web.en-de.tsv"), "input and output are the same file"),
        (("-o", "x.tsv", "--report", "x.tsv"), "the report is JSON Lines"),
        (("-o", "x.jsonl", "--report", "x.jsonl"), "two outputs are the same file"),
        (("-o", "x.tsv", "--page", "rules.toml"), "input and output are the same file"),
        (("-o", "x.txt"), "x.txt: pairs are written as"),
        (("-o", "x.de-en.tsv"), "from de to en by its name"),
        (("-o", "x.tsv", "--keep", "0.5"), "--keep without --score"),
        (("-o", "x.tsv", "--by", "round-trip"), "--by without --score"),
        (("-o", "x.tsv", "--max-length", "4"), "--max-length and --batch-tokens are for --score"),
        (("-o", "x.tsv", "--workers", "0"), "--workers 0"),
        (
            ("-o", "x.tsv", "--source-language", "de", "--target-language", "en"),
            "the languages are from de to en",
        ),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(dragoman_, folder, words, message) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    ended = dragoman_(*COMMAND, *words)

    assert ended.code in (2, 3)
    assert message in ended.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_contexts_are_repaired_and_empty_pairs_stay(dragoman_, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"source": "House &amp; garden", "target": "Haus &amp; Garten", "context": "Left &amp; right"},
        {"source": "", "target": ""},
        {"source": "A dog sleeps.", "target": ""},
    ]
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = dragoman_("data", "clean", "in.jsonl", "-o", "out.jsonl", "--workers", "1", "-q")
    assert ended.code == 0
    assert [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()] == [
        {"source": "House & garden", "target": "Haus & Garten", "context": "Left & right"},
        {"source": "", "target": ""},
    ]
    with gzip.open("out.jsonl.report.jsonl.gz", "rt", encoding="utf-8") as report:
        entry = json.loads(next(report))
    assert (entry["what"], entry["context"]) == ("repaired", ["Left &amp; right", "Left & right"])


def test_documents_end_where_a_pair_is_dropped_and_between_files(dragoman_, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small_chunks(monkeypatch, 2)
    for lines_of_a in (2, 3):
        rows = [{"source": f"Dog {n}", "target": f"Hund {n}", "document": "a"} for n in range(lines_of_a)]
        rows += [{"source": "Dropped", "target": "", "document": "b"}]
        rows += [{"source": "Cat", "target": "Katze", "document": "b"}]
        Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        Path("more.jsonl").write_text(json.dumps(rows[-1]) + "\n")
        words = ("data", "clean", "in.jsonl", "more.jsonl", "-o", "out.en-de.tsv", "--workers", "1", "-q")
        assert dragoman_(*words).code == 0
        blocks = Path("out.en-de.tsv").read_text("utf-8").split("\n\n")
        assert [block.count("\t") for block in blocks] == [lines_of_a, 1, 1]


def test_a_repaired_context_alone_is_a_line_of_the_report(dragoman_, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    row = {"source": "A house", "target": "Ein Haus", "context": "Left  &amp; right"}
    Path("in.jsonl").write_text(json.dumps(row) + "\n")
    ended = dragoman_("data", "clean", "in.jsonl", "-o", "out.jsonl", "--workers", "1", "--report", "r.jsonl")
    assert "1 of them repaired" in ended.err
    (entry,) = map(json.loads, Path("r.jsonl").read_text().splitlines())
    assert (entry["repairs"], entry["context"]) == (
        ["entities", "spaces"],
        ["Left  &amp; right", "Left & right"],
    )


def test_a_report_of_nothing_is_a_compressed_file(dragoman_, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.en-de.tsv").write_text("A dog.\tEin Hund.\n")
    assert dragoman_("data", "clean", "in.en-de.tsv", "-o", "out.en-de.tsv", "--workers", "1").code == 0
    report = Path("out.en-de.tsv.report.jsonl.gz").read_bytes()
    assert report
    assert gzip.decompress(report) == b""


@pytest.mark.parametrize("command", ["look", "clean", "dedupe", "leak"])
def test_a_head_without_pairs_is_refused(dragoman_, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("in.en-de.tsv").write_text("en\tde\n")
    more = {"look": [], "leak": ["--test", "in.en-de.tsv"]}.get(command, ["-o", "out.en-de.tsv"])
    ended = dragoman_("data", command, "in.en-de.tsv", *more)
    assert ended.code != 0
    assert "error: in.en-de.tsv: no pairs under its head" in ended.err


@pytest.mark.skipif(os.name != "posix", reason="names of files are Unicode")
@pytest.mark.parametrize("command", ["clean", "dedupe"])
def test_a_name_that_is_not_utf8_is_escaped_in_reports(dragoman_, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"caf\xe9.en-de.tsv")
    Path(name).write_text("A dog.\tEin Hund.\nA dog.\tEin Hund.\nA cat.\t\n")
    ended = dragoman_("data", command, name, "-o", "out.en-de.tsv", "--report", "out.jsonl")
    assert ended.code == 0
    assert {json.loads(line)["file"] for line in Path("out.jsonl").read_text().splitlines()} == {name}
