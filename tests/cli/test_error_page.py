"""`--page` of `dragoman evaluate` and `dragoman score`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.evaluation.test_error_page import data_of

SAVED = Path(__file__).parents[1] / "saved" / "0.1"
MODEL, SOURCE, REFERENCE = SAVED / "transformer", SAVED / "text/test.en", SAVED / "text/test.de"


def test_evaluate_writes_a_page(dragoman_, tmp_path):
    page, made = tmp_path / "a b.html", tmp_path / "made.de"
    dragoman_("translate", MODEL, SOURCE, "--beam", "1", "-o", made)
    against = ["--against", REFERENCE, "--against", made]

    ended = dragoman_(
        "evaluate", MODEL, SOURCE, REFERENCE, *against, "--page", page, "--bootstrap", "20", "--json"
    )

    assert ended.code == 0
    data = data_of(page.read_text(encoding="utf-8"))
    assert data["results"] == json.loads(ended.out)["cased"]
    assert [one["name"] for one in data["systems"]] == [str(REFERENCE), str(made), str(MODEL)]
    assert data["results"]["baseline"] == str(REFERENCE)
    assert [one["command"] for one in data["systems"]] == [
        *(None, None, f"dragoman inspect {shlex.quote(str(MODEL))}")
    ]
    assert data["languages"] == ["en", "de"]
    assert data["systems"][1]["texts"] == made.read_text(encoding="utf-8").splitlines()


def test_score_writes_a_page(dragoman_, tmp_path):
    page = tmp_path / "page.html"

    ended = dragoman_("score", REFERENCE, REFERENCE, "--source", SOURCE, "--page", page)

    assert ended.code == 0
    data = data_of(page.read_text(encoding="utf-8"))
    assert data["languages"] == ["en", "de"]
    assert data["results"]["chrf++"]["value"] == 100
    assert "chrF2++" in ended.out
    assert (
        len(data["sources"])
        == len(data["systems"][0]["texts"])
        == len(SOURCE.read_text(encoding="utf-8").splitlines())
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--page", "p.html"], "--page or --comet without the source text"),
        (["--comet", "m"], "--page or --comet without the source text"),
        (["--comet-python", "p"], "--page or --comet without the source text"),
        (["--source", "REFERENCE", "--comet-python", "p"], "--comet-python without --comet"),
        (["--test", "ar"], "--test without --against"),
        (["--against", "SHORT", "--bootstrap", "0"], "--bootstrap 0: comparing systems needs resamples"),
        (["--bootstrap", "-1"], "bootstrap = -1 cannot be used"),
        (["--source", "SHORT", "--page", "p.html"], "short: 1 line, but"),
        (["--source", "SHORT", "--page", "SHORT"], "input and output are the same file"),
        (["--source", "REFERENCE", "--comet", "no/such"], "COMET is not installed"),
    ],
    ids=str,
)
def test_what_cannot_be_is_said(dragoman_, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short").write_text("one\n", encoding="utf-8")
    places = {"REFERENCE": REFERENCE, "SHORT": tmp_path / "short"}

    ended = dragoman_("score", REFERENCE, REFERENCE, *(places.get(word, word) for word in words))

    assert ended.code in (2, 3)
    assert message in ended.err
    assert not (tmp_path / "p.html").exists()
    assert (tmp_path / "short").read_text(encoding="utf-8") == "one\n"
