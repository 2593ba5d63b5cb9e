"""`dragoman memory`, and `dragoman translate --memory`, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SAVED = Path(__file__).parents[1] / "saved" / "0.1"
MODEL = SAVED / "transformer"
LANGUAGES = ("--source-language", "en", "--target-language", "de")


@pytest.fixture
def memory(dragoman_, tmp_path: Path) -> Path:
    path = tmp_path / "a.tm"
    assert dragoman_("memory", "add", path, "Tom sleeps.", "Tom pennt.", *LANGUAGES).code == 0
    return path


def test_a_new_memory_needs_languages(dragoman_, tmp_path):
    ended = dragoman_("memory", "add", tmp_path / "a.tm", "Row", "Zeile")
    assert (ended.code, ended.out) == (2, "")
    assert "which languages" in ended.err
    assert "--source-language" in ended.err
    assert not (tmp_path / "a.tm").exists()


def test_a_memory_says_its_languages(dragoman_, memory):
    ended = dragoman_("memory", "add", memory, "Row", "Zeile", "--source-language", "en")
    assert (ended.code, ended.err) == (0, "added\n")
    ended = dragoman_("memory", "add", memory, "Row", "Ligne", "--target-language", "fr")
    assert ended.code == 2
    assert "is from en to de" in ended.err


def test_adding_says_whether_it_is_new(dragoman_, memory):
    assert dragoman_("memory", "add", memory, "Tom sleeps.", "Tom schläft.").err == "added\n"
    assert "it is now the newest" in dragoman_("memory", "add", memory, "Tom sleeps.", "Tom pennt.").err
    assert dragoman_("memory", "add", memory, "Tom sleeps.", "Tom pennt.", "-q").err == ""
    ended = dragoman_("memory", "search", memory, "Tom  sleeps.")
    assert ended.out == "100%\tTom sleeps.\tTom pennt.\n100%\tTom sleeps.\tTom schläft.\n"


def test_searching_finds_similar_texts(dragoman_, memory):
    ended = dragoman_("memory", "search", memory, "Tim sleeps.")
    assert (ended.code, ended.out) == (0, "79%\tTom sleeps.\tTom pennt.\n")
    assert dragoman_("memory", "search", memory, "Tim sleeps.", "--least", "80").out == ""
    found = json.loads(dragoman_("memory", "search", memory, "Tom sleeps.", "--json").out)
    assert [(one["score"], one["target"], one["author"]) for one in found] == [(100, "Tom pennt.", "")]
    for words in (["--least", "0"], ["--most", "0"]):
        assert dragoman_("memory", "search", memory, "x", *words).code == 2


def test_files_are_imported_and_exported(dragoman_, tmp_path):
    (tmp_path / "app.en").write_text("Row\nCell\n\n")
    (tmp_path / "app.de").write_text("Zeile\nZelle\nleer\n")
    path = tmp_path / "a.tm"
    ended = dragoman_("memory", "import", path, tmp_path / "app.en", tmp_path / "app.de")
    assert (ended.code, ended.err) == (0, "2 pairs added, 0 were there, 1 are blank\n")
    assert dragoman_("memory", "export", path, tmp_path / "a.tmx").err.startswith("2 pairs written")
    ended = dragoman_("memory", "import", tmp_path / "b.tm", tmp_path / "a.tmx", "--json")
    assert json.loads(ended.out) == {"new": 2, "known": 0, "blank": 0}
    ended = dragoman_("memory", "import", tmp_path / "b.tm", tmp_path / "a.tmx")
    assert ended.err == "0 pairs added, 2 were there\n"
    about = json.loads(dragoman_("memory", "info", tmp_path / "b.tm", "--json").out)
    assert (about["pairs"], about["segments"], about["source_language"]) == (2, 2, "en")
    assert "en to de" in dragoman_("memory", "info", tmp_path / "b.tm").out


def test_pairs_come_from_a_pipe(dragoman_, tmp_path):
    new, pairs = tmp_path / "new.tm", b"A dog.\tEin Hund.\n"
    ended = dragoman_("memory", "import", new, "-", *LANGUAGES, stdin=pairs)
    assert (ended.code, ended.err) == (0, "1 pairs added, 0 were there\n")
    assert dragoman_("memory", "search", new, "A dog.").out == "100%\tA dog.\tEin Hund.\n"


def test_wrong_files_are_explained(dragoman_, memory, tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("A dog.\n" * 200)
    for words, code, said in [
        (["info", text], 3, "not a translation memory"),
        (["search", tmp_path / "none.tm", "x"], 3, "no such translation memory"),
        (["import", memory, tmp_path / "none.tmx"], 3, "none.tmx"),
        (["import", memory, text], 2, "only one side"),
        (["export", memory, tmp_path / "a.doc"], 2, "neither .tmx nor .tsv"),
        (["export", memory, memory], 2, "input and output are the same file"),
        (["add", memory, "x", " "], 3, "without words"),
        (["add", memory, "x", "y", "--source-language", "fr", "--target-language", "de"], 2, "is from en to"),
    ]:
        ended = dragoman_("memory", *words)
        assert (ended.code, ended.out) == (code, ""), words
        assert said in ended.err
        assert "hint: " in ended.err


# Translating


def lines(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("Tom sleeps.\nThe dog sees the cat.\n\nTom  sleeps. \n")
    return path


def test_what_the_memory_has_is_taken_over(dragoman_, memory, tmp_path):
    plain = dragoman_("translate", MODEL, lines(tmp_path)).out.split("\n")
    ended = dragoman_("translate", MODEL, lines(tmp_path), "--memory", memory)
    assert ended.code == 0
    assert ended.out.split("\n") == ["Tom pennt.", plain[1], "", "Tom pennt.", ""]
    about = json.loads(dragoman_("memory", "info", memory, "--json").out)
    assert about["used"] > 0


def test_matches_are_in_jsonl(dragoman_, memory, tmp_path):
    (tmp_path / "in.txt").write_text("Tom sleeps.\nTim sleeps.\nA cat.\n")
    ended = dragoman_("translate", MODEL, tmp_path / "in.txt", "--memory", memory, "--jsonl")
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert found[0]["match"] == {"score": 100.0, "source": "Tom sleeps.", "target": "Tom pennt."}
    assert (found[0]["text"], found[0]["score"]) == ("Tom pennt.", 0.0)
    assert found[1]["match"] == {"score": 78.8, "source": "Tom sleeps.", "target": "Tom pennt."}
    assert found[1]["text"] != "Tom pennt."
    assert "match" not in found[2]
    ended = dragoman_(
        "translate", MODEL, tmp_path / "in.txt", "--memory", memory, "--jsonl", "--match-least", "80"
    )
    assert "match" not in json.loads(ended.out.splitlines()[1])


def test_other_outputs_have_a_place_for_it(dragoman_, memory, tmp_path):
    (tmp_path / "in.txt").write_text("Tom sleeps.\n")

    def out(*words: str) -> str:
        ended = dragoman_("translate", MODEL, tmp_path / "in.txt", "--memory", memory, *words)
        assert ended.code == 0, ended.err
        return ended.out

    assert out("--n-best", "2") == "1\t0.0000\tTom pennt.\n" * 2
    assert out("--scores") == "0.0000\tTom pennt.\n"
    assert out("--protect") == "Tom pennt.\n"
    assert out("--sample") == "Tom pennt.\n"
    text, links = out("--alignment").rstrip("\n").split("\t")
    assert text == "Tom pennt."
    assert {link.split("-")[0] for link in links.split()} <= {"0", "1"}
    assert links
    assert out("--prefix", "Tom p") == "Tom pennt.\n"
    assert out("--prefix", "Maria").startswith("Maria")


def test_a_small_file_serves_as_a_memory(dragoman_, tmp_path):
    (tmp_path / "a.tsv").write_text("Tom sleeps.\tTom ratzt.\n")
    ended = dragoman_("translate", MODEL, lines(tmp_path), "--memory", tmp_path / "a.tsv")
    assert ended.out.startswith("Tom ratzt.\n")


def test_a_wrong_memory_is_refused_before_the_model_is_loaded(dragoman_, memory, tmp_path):
    for words, code, said in [
        (["--memory", tmp_path / "none.tm"], 3, "no such translation memory"),
        (["--memory", tmp_path / "none.tmx"], 3, "no such translation memory"),
        (["--memory", lines(tmp_path)], 3, "not a translation memory"),
        (["--memory", memory, "--match-least", "0"], 2, "--match-least 0"),
    ]:
        ended = dragoman_("translate", tmp_path / "no-model", lines(tmp_path), *words)
        assert ended.code == code
        assert said in ended.err
    other = tmp_path / "fr.tm"
    dragoman_("memory", "add", other, "a", "b", "--source-language", "en", "--target-language", "fr")
    ended = dragoman_("translate", MODEL, lines(tmp_path), "--memory", other)
    assert ended.code == 2
    assert "from en to fr" in ended.err


def test_a_document_uses_the_memory_and_reports_similar_texts(dragoman_, memory, tmp_path):
    (tmp_path / "a.po").write_text(
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
        'msgid "Tom sleeps.\\n"\nmsgstr ""\n\nmsgid "Tim sleeps."\nmsgstr ""\n'
    )
    report = tmp_path / "report.jsonl"
    ended = dragoman_(
        "translate", MODEL, tmp_path / "a.po", "-o", tmp_path / "b.po", "--memory", memory, "--report", report
    )
    assert ended.code == 0, ended.err
    assert "1 of 2 segments translated: 1 filled, 1 left out, 1 marked, 1 from the memory" in ended.err
    # The model loops at the other one, so the text is copied.
    assert 'msgid "Tom sleeps.\\n"\nmsgstr "Tom pennt.\\n"\n' in (tmp_path / "b.po").read_text()
    (entry,) = [json.loads(line) for line in report.read_text().splitlines()]
    assert (entry["source"], entry["match"]["target"]) == ("Tim sleeps.", "Tom pennt.")
    assert entry["match"]["score"] == 78.8
