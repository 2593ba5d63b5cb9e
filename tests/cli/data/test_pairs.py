"""`dragoman data pairs`: which documents belong together, what is written, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli import run

ENGLISH = "Kettle 3000\n\nFill it with 2 litres of water.\n\nSwitch it on for 14 minutes.\n"
GERMAN = "Kessel 3000\n\nFüllen Sie 2 Liter Wasser ein.\n\nSchalten Sie ihn 14 Minuten ein.\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for language, text in (("en", ENGLISH), ("de", GERMAN)):
        Path(f"manual.{language}.txt").write_text(text, encoding="utf-8")
        Path("docs", language).mkdir(parents=True)
        Path("docs", language, "manual.txt").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "names",
    [
        ("manual.en.txt", "manual.de.txt"),
        ("docs/en", "docs/de"),
        ("*.en.txt", "*.de.txt"),
    ],
)
def test_pairs_go_to_standard_output(names: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "pairs", *names, "--least", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert lines[0] == "Kettle 3000\tKessel 3000"
    assert len(lines) == 3


@pytest.mark.parametrize("kind", ["tmx", "tsv", "jsonl", "tm"])
def test_every_kind_of_output_is_read_again(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            ["data", "pairs", "manual.en.txt", "manual.de.txt", "--least", "0", "-o", f"out.{kind}", "--json"]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["kept"] == 3
    if kind != "tm":
        languages = ["--source-language", "en", "--target-language", "de"]
        assert run(["memory", "import", "out.tm", f"out.{kind}", *languages]) == 0
    assert run(["memory", "export", "out.tm", "again.tsv"]) == 0

    assert "Kettle 3000\tKessel 3000\n" in Path("again.tsv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["manual.en.txt", "nowhere.de.txt"], 3, "nowhere.de.txt"),
        (["manual.en.txt", "empty.de.txt"], 3, "empty.de.txt: no text"),
        (["manual.en.txt", "damaged.de.docx"], 3, "damaged.de.docx"),
        (["manual.en.txt", "binary.de.txt"], 3, "binary.de.txt"),
        (["manual.en.txt", "manual.en.txt"], 2, "which language"),
        (["manual.en.txt", "manual.de.txt", "-o", "out.xml"], 2, "out.xml"),
        (["manual.en.txt", "manual.de.txt", "-o", "out.de-en.tsv"], 2, "out.de-en.tsv"),
        (["manual.en.txt", "manual.de.txt", "--page", "manual.en.txt"], 2, "same file"),
        (["docs/en", "hollow"], 2, "hollow"),
        (["docs/en", "hollow", "--target-language", "de"], 3, "hollow"),
        (["manual.en.txt", "manual.de.txt", "--model", "nowhere"], 4, "nowhere"),
        (
            ["manual.en.txt", "manual.de.txt", "--model", "x", "--lexicon", "a.tsv"],
            2,
            "--lexicon has no effect",
        ),
    ],
)
def test_bad_input_is_refused(
    words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty.de.txt").touch()
    Path("damaged.de.docx").write_bytes(b"PK\3\4 no document")
    Path("binary.de.txt").write_bytes(b"\0\xff\xfe\0" * 50)
    Path("hollow").mkdir()

    assert run(["data", "pairs", *words]) == code
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert Path("manual.en.txt").read_text(encoding="utf-8") == ENGLISH


def test_text_of_pages_is_without_markup(capsys: pytest.CaptureFixture[str]) -> None:
    for language, text in (("en", "Run {0} &amp; wait."), ("de", "{0} aufrufen &amp; warten.")):
        code = '<code class="notranslate" title="x>y"><span>a&lt;b&gt;</span></code>'
        page = f'<html><body><h1>14{language}<a href="#x">¶</a></h1><p>{text.format(code)}</p></body></html>'
        Path(f"page.{language}.html").write_text(page, encoding="utf-8")

    assert run(["data", "pairs", "page.en.html", "page.de.html", "--least", "0"]) == 0
    assert capsys.readouterr().out == "14en\t14de\nRun a<b> & wait.\ta<b> aufrufen & warten.\n"


def test_hidden_folders_are_left_out_and_equal_names_belong_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The English word "it" is also the code of Italian, so no code is taken out of equal names."""
    for language, text in (("en", ENGLISH), ("it", GERMAN)):
        for place in (f"both/{language}/.git", f"both/{language}"):
            Path(place).mkdir(parents=True, exist_ok=True)
            Path(place, "how-to-use-it.txt").write_text(text, encoding="utf-8")
    assert run(["data", "pairs", "both/en", "both/it", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["documents"]
    assert one["documents"] == "both/en/how-to-use-it.txt both/it/how-to-use-it.txt"


def test_patterns_in_this_folder_name_several_documents(capsys: pytest.CaptureFixture[str]) -> None:
    for language, text in (("en", ENGLISH), ("de", GERMAN)):
        Path(f"other.{language}.txt").write_text(text, encoding="utf-8")
    assert run(["data", "pairs", "*.en.txt", "*.de.txt", "--json"]) == 0
    documents = json.loads(capsys.readouterr().out)["documents"]
    assert [one["documents"] for one in documents] == [
        "manual.en.txt manual.de.txt",
        "other.en.txt other.de.txt",
    ]
