"""Context and formality on the command line."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.test_error_page import data_of

from dragoman.cli.input import Input

SAVED = Path(__file__).parents[1] / "saved" / "0.1" / "transformer"
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model that says it reads context and formality; it has not learnt to use them."""
    folder = tmp_path_factory.mktemp("model") / "reads"
    shutil.copytree(SAVED, folder)
    table = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(table | {"guidance": ["context", "formality"]}))
    (folder / "digests.json").unlink(missing_ok=True)
    return folder


def test_the_lines_before_are_the_context(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n two \n\nthree\nfour\nfive\nsix\nseven\n")
    (tmp_path / "b").write_text("eight\n")
    names = [str(tmp_path / "a"), str(tmp_path / "b")]

    def contexts(skipped: int) -> list[str]:
        lines = Input(names, skipped=skipped, in_context=True)
        given = lines.contexts()
        return [next(given) for _ in lines]

    expected = ["", "one", "one two", "", "three", "three four", "three four five", "four five six", ""]
    for skipped in range(len(expected)):
        assert contexts(skipped) == expected[skipped:]


def test_lines_in_context(dragoman_: Run, model: Path, tmp_path: Path) -> None:
    text, beside = tmp_path / "a.en", tmp_path / "context"
    text.write_text("A dog sees a bird.\nTom sleeps.\n\nA cat sees it.\n")
    beside.write_text("\nA dog sees a bird.\nA dog sees a bird. Tom sleeps.\n\n")
    found = {
        options: dragoman_("translate", str(model), str(text), "--scores", *options)
        for options in ((), ("--in-context",), ("--context-file", str(beside)))
    }
    assert all(one.code == 0 for one in found.values()), found
    alone, before, given = (one.out.splitlines() for one in found.values())
    assert before == given
    assert [a == b for a, b in zip(alone, before, strict=True)] == [True, False, True, True]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_context_file_may_be_a_pipe(dragoman_: Run, model: Path, tmp_path: Path) -> None:
    text, pipe = tmp_path / "a.en", tmp_path / "pipe"
    text.write_text("Tom sleeps.\nTom sleeps.\n")
    os.mkfifo(pipe)

    def write() -> None:
        for lines in ("A dog sees a bird.\n\n", ""):  # a second reader gets nothing
            pipe.write_text(lines)

    threading.Thread(target=write, daemon=True).start()
    found = dragoman_(
        "translate", str(model), str(text), "--context-file", str(pipe), "-o", str(tmp_path / "b")
    )
    assert found.code == 0, found.err
    assert len((tmp_path / "b").read_text().splitlines()) == 2


def test_formality_is_read(dragoman_: Run, model: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.en"
    text.write_text("A dog sees a bird.\n")
    runs = [
        dragoman_("translate", str(model), str(text), "--scores", *more)
        for more in ((), ("--formality", "formal"), ("--formality", "informal"))
    ]
    assert all(one.code == 0 for one in runs), runs
    assert len({one.out for one in runs}) == 3


def test_what_does_not_fit_is_refused(dragoman_: Run, model: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.en"
    text.write_text("A dog.\n")
    for words, message in (
        ((str(SAVED), str(text), "--in-context"), "not trained to read context"),
        ((str(SAVED), str(text), "--formality", "formal"), "not trained to read formality"),
        ((str(model), str(text), "--in-context", "--context-file", str(text)), "--in-context together with"),
        ((str(model), str(text), "--context-file", str(tmp_path / "no")), "no: no such file"),
        ((str(model), str(text), "--formality", "rude"), "--formality rude"),
        ((str(model), "-", "--context-file", "-"), "standard input is named twice"),
    ):
        result = dragoman_("translate", *words)
        assert result.code in (2, 3), result
        assert message in result.err


def test_contrastive_scoring(dragoman_: Run, model: Path, tmp_path: Path) -> None:
    rows = [
        {
            "source": "A dog sees it.",
            "right": "Ein Hund sieht ihn.",
            "wrong": ["Ein Hund sieht sie."],
            "kind": kind,
        }
        for kind in ("m", "f")
    ]
    rows[0]["context"] = "A bird."
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = dragoman_("evaluate", str(model), "--contrast", str(path), "--json")
    assert result.code == 0, result.err
    table = json.loads(result.out)
    assert [one["kind"] for one in table["alone"]] == ["f", "m", "all"]
    # Without context both examples are the same question.
    assert table["alone"][0]["share"] == table["alone"][1]["share"]
    assert table["in context"][2]["examples"] == 2
    shown = dragoman_("evaluate", str(SAVED), "--contrast", str(path))
    assert "right translations preferred" in shown.out
    assert "in context" not in shown.out
    for words, message in (
        ((str(path), "--contrast", str(path)), "--contrast together with"),
        (("--contrast", str(path), "--in-context"), "--in-context with --contrast"),
        (("--contrast", str(path), "-o", str(tmp_path / "x")), "--output with --contrast"),
        ((str(path), "--documents", str(tmp_path)), "--documents without --contrast"),
        (("--contrast", str(path), "--documents", str(tmp_path)), "--documents without --contrast FILE.json"),
        (("--contrast", str(path), "--min-bleu", "9"), "--min-bleu with --contrast"),
        (("--contrast", str(path), "--dtype", "float32,int8"), "--contrast cannot be used with --dtype"),
        ((str(path), str(path), "--risk", "--in-context"), "--risk with --in-context"),
    ):
        wrong = dragoman_("evaluate", str(model), *words)
        assert (wrong.code, message in wrong.err) == (2, True), wrong


def test_evaluate_in_context_and_consistency(dragoman_: Run, model: Path, tmp_path: Path) -> None:
    for name, lines in (("a.en", "A dog.\nTom sleeps.\n"), ("a.de", "Ein Hund.\nTom schläft.\n")):
        (tmp_path / name).write_text(lines)
    files = [str(tmp_path / "a.en"), str(tmp_path / "a.de")]
    alone, before = tmp_path / "alone", tmp_path / "before"
    options = ("--json", "--consistency")
    first = dragoman_("evaluate", str(model), *files, *options, "-o", str(alone))
    second = dragoman_("evaluate", str(model), *files, *options, "-o", str(before), "--in-context")
    assert (first.code, second.code) == (0, 0), (first.err, second.err)
    assert json.loads(first.out)["consistency"]["formality"].keys() == {"formal", "informal", "share"}
    one, other = alone.read_text().splitlines(), before.read_text().splitlines()
    assert one[0] == other[0]
    for name, line in (("b.en", "A cat sees it."), ("b.de", "Eine Katze sieht es.")):
        (tmp_path / name).write_text(f"{line}\n")
    written = []
    for names in ("?", "b"):
        files = [str(tmp_path / f"{names}.{language}") for language in ("en", "de")]
        found = dragoman_("evaluate", str(model), *files, "--json", "-o", str(before), "--in-context")
        assert found.code == 0, found.err
        written.append(before.read_text().splitlines()[-1])
    assert written[0] == written[1]  # another file ends the context
    files = [str(tmp_path / "a.en"), str(tmp_path / "a.de")]
    # A model that reads neither context nor formality translates without.
    given = ("--in-context", "--formality", "formal", "--beam", "2", "--page", str(tmp_path / "page.html"))
    against = dragoman_("evaluate", str(model), *files, *given, "--against", str(SAVED))
    assert against.code == 0, against.err
    rival, own = data_of((tmp_path / "page.html").read_text(encoding="utf-8"))["systems"]
    assert [rival["inContext"], own["inContext"]] == [False, True]
    assert rival["command"] == f"dragoman inspect {SAVED}"
    assert own["command"] == f"dragoman inspect {model} --formality formal"
