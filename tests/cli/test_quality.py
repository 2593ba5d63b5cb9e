"""`--quality`, `--mbr` and `--reverse` on the command line, with a saved model."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.models import Guides
from dragoman.translation.translator import Translator

SAVED = Path(__file__).parents[1] / "saved" / "0.1"
MODEL, TEXT = SAVED / "transformer", SAVED / "text" / "test.en"
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return TEXT.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--quality", "fast"], {"beam": 1}),
        (["--quality", "best"], {"mbr": "chrf"}),
        (["--mbr", "bleu", "--candidates", "3"], {"mbr": "bleu", "candidates": 3}),
    ],
)
def test_the_options_are_those_of_python(
    dragoman_: Run, lines: list[str], words: list[str], options: dict[str, Any]
) -> None:
    expected = [one.text for one in Translator.load(MODEL).translate(lines, **options)]
    result = dragoman_("translate", str(MODEL), str(TEXT), *words)
    assert result.code == 0, result.err
    assert result.out.splitlines() == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--quality", "good"], "--quality good"),
        (["--mbr", "ter"], "--mbr ter"),
        (["--candidates", "4"], "candidates = 4 without a choice"),
        (["--reverse", "no-such-model"], "no-such-model: no such model folder"),
        (["--reverse", str(MODEL)], "the reverse model translates from en to de"),
    ],
)
def test_what_does_not_fit_is_refused(dragoman_: Run, words: list[str], message: str) -> None:
    result = dragoman_("translate", str(MODEL), str(TEXT), *words)
    assert result.code in (2, 4)
    assert message in result.err


def test_evaluate_has_them_too(dragoman_: Run, lines: list[str]) -> None:
    reference = TEXT.with_suffix(".de")
    result = dragoman_(
        "evaluate", str(MODEL), str(TEXT), str(reference), "--quality", "best", "--bootstrap", "0"
    )
    assert result.code == 0, result.err
    assert "BLEU" in result.out


def test_the_model_to_compare_with_has_the_same_help(
    dragoman_: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helped: list[Path | None] = []

    def guide(self: Guides, translator: Translator, to: str | None) -> Translator:
        helped.append(self.reverse)
        return translator

    monkeypatch.setattr(Guides, "guide", guide)
    copied = shutil.copytree(MODEL, tmp_path / "rival")
    words = [str(MODEL), str(TEXT), str(TEXT.with_suffix(".de"))]
    result = dragoman_(
        "evaluate", *words, "--against", str(copied), "--reverse", str(copied), "--bootstrap", "10"
    )
    assert result.code == 0, result.err
    assert helped == [copied, copied]


def test_translations_to_compare_with_are_counted_before_the_work(dragoman_: Run, tmp_path: Path) -> None:
    (tmp_path / "short.de").write_text("Ein Hund.\n")
    words = [str(MODEL), str(TEXT), str(TEXT.with_suffix(".de"))]
    result = dragoman_(
        "evaluate", *words, "--against", str(tmp_path / "short.de"), "-o", str(tmp_path / "out.de")
    )
    assert result.code == 3
    assert "short.de: 1 line, but" in result.err
    assert not (tmp_path / "out.de").exists()
