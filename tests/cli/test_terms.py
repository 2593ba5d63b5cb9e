"""`--terms` on the command line, with a tiny model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.program import program

from dragoman.cli.outcome import run
from dragoman.text import toy
from dragoman.translation.folder.config import read_config

TRAINING = [
    "model.d_model=16",
    "model.heads=2",
    "model.d_ff=32",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
]
TRAINING += [
    "tokenizer.vocab_size=400",
    "training.max_updates=20",
    "training.validate_every=20",
    "--preset",
    "tiny",
]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    for place, side in enumerate(("en", "de")):
        lines = [f"{pair[place]}\n" for pair in toy.pairs(seed=5, count=120)]
        (folder / f"train.{side}").write_text("".join(lines), encoding="utf-8")
    (folder / "terms.csv").write_text("en;de\ndog;Hündchen|Wauwau\n", encoding="utf-8")
    (folder / "in.en").write_text("The dog sleeps.\nNothing.\n", encoding="utf-8")
    (folder / "in.de").write_text("Der Hund schläft.\nNichts.\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def soft(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learnt to read terms and matches, but little else."""
    output = tmp_path_factory.mktemp("models") / "soft"
    words = ["train", str(text / "train.en"), str(text / "train.de"), "-o", str(output), "-q"]
    words += ["data.terms=0.5", "data.matches=0.5", *TRAINING]
    assert run(program(), words) == 0
    return output


def test_training_says_what_the_model_reads(dragoman_, soft: Path) -> None:
    assert read_config(soft).guidance == ("terms", "matches")
    assert "reads beside a line  terms, matches" in dragoman_("model", "info", soft).out


def test_soft_and_hard(dragoman_, soft: Path, text: Path) -> None:
    answers = {}
    for mode in (None, "soft", "hard"):
        choice = [] if mode is None else ["--terms-mode", mode]
        ended = dragoman_(
            "translate",
            soft,
            text / "in.en",
            "--terms",
            text / "terms.csv",
            *choice,
            "--jsonl",
            "--max-extra",
            5,
        )
        assert ended.code == 0, ended.err
        answers[mode] = [json.loads(line) for line in ended.out.splitlines()]
    assert answers[None] == answers["soft"]
    dog, nothing = answers["hard"]
    used = "Hündchen" in dog["text"] or "Wauwau" in dog["text"]
    assert dog.get("unused_terms", []) == ([] if used else ["Hündchen"])
    assert "unused_terms" not in nothing
    assert answers["soft"][0]["unused_terms"] == ["Hündchen"]


def test_documents_mark_what_is_not_used(dragoman_, soft: Path, text: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.jsonl"
    page = tmp_path / "a.html"
    page.write_text("<p>The <b>dog</b> sleeps.</p>", encoding="utf-8")
    ended = dragoman_(
        "translate", soft, page, "-o", tmp_path / "b.html", "--terms", text / "terms.csv", "--report", report
    )
    assert ended.code == 0, ended.err
    reasons = [json.loads(line)["reasons"] for line in report.read_text(encoding="utf-8").splitlines()]
    assert any("term not used: Hündchen" in one for one in reasons) or "not translated" in str(reasons)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--terms", "none.csv"], 3, "none.csv: no such file"),
        (["--terms-mode", "hard"], 2, "--terms-mode without --terms"),
        (["--match-least", "20"], 2, "--match-least without --memory"),
        (["--terms", "{text}/terms.csv", "--terms-mode", "both"], 2, "it must be one of: soft, hard"),
        (["--terms", "{text}/in.en"], 3, "in.en:1: no translation"),
    ],
)
def test_what_is_wrong_is_said(
    dragoman_, soft: Path, text: Path, words: list[str], code: int, message: str
) -> None:
    filled = [word.format(text=text) for word in words]
    ended = dragoman_("translate", soft, text / "in.en", *filled)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


def test_evaluate_with_terms(dragoman_, soft: Path, text: Path) -> None:
    ended = dragoman_(
        "evaluate",
        soft,
        text / "in.en",
        text / "in.de",
        "--terms",
        text / "terms.csv",
        "--terms-mode",
        "hard",
    )
    assert ended.code == 0, ended.err
    assert "BLEU" in ended.out
