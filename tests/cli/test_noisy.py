"""Noise on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODEL = Path(__file__).parents[1] / "saved" / "0.1" / "transformer"
Run = Callable[..., Any]


def test_what_each_kind_of_noise_costs(dragoman_: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("A dog sees it.\n")
    target.write_text("Ein Hund sieht es.\n")
    words = ("evaluate", str(MODEL), str(source), str(target), "--noisy", "--dtype", "float32")
    shown, table = dragoman_(*words), dragoman_(*words, "--json")

    assert shown.code == table.code == 0, shown.err
    rows = json.loads(table.out)["noise"]
    assert [row["kind"] for row in rows] == [
        "capitals", "title", "lower", "typos", "punctuation", "emoji", "tags", "spaces", "breaks",
    ]  # fmt: skip
    assert {row["lines"] for row in rows} == {1}
    assert {"chrf", "chrf_clean", "chrf_lost", "bleu", "bleu_clean", "bleu_lost"} <= {*rows[0]}
    assert shown.out.splitlines()[-1].startswith("mean ")


def test_what_does_not_fit_is_refused(dragoman_: Run, tmp_path: Path) -> None:
    result = dragoman_("evaluate", str(MODEL), "--contrast", "a.jsonl", "--noisy")
    assert result.code == 2
    assert "--noisy with --contrast" in result.err
