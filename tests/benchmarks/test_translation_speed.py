"""`translation_speed.py` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from decoding import contest
from decoding.contenders import DecodingConditions, DecodingTurn, TranslationContender
from tests.interop.memorised import SOURCES, random_bundle, tokenizer
from translation_speed import translation_speed

from dragoman.base.errors import ConfigError, DataError
from dragoman.models.folder.bundle import save


@pytest.fixture
def model(tmp_path: Path) -> str:
    save(random_bundle(tokenizer()), tmp_path / "model")
    return str(tmp_path / "model")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a contest is asked to measure. One contender has a turn, whose translations differ by request."""
    options: dict[str, Any] = {"different": 0}

    def compete(
        contenders: list[TranslationContender], conditions: DecodingConditions, **others: Any
    ) -> contest.DecodingContest:
        options.update(others, conditions=conditions, names=[one.name for one in contenders])
        result = contest.DecodingResult(
            contender=contenders[0], kind="throughput", beam=1, turns=[DecodingTurn(value=7.0)]
        )
        result.different, result.answers = options["different"], [[1]]
        return contest.DecodingContest(
            conditions=conditions, rounds=1, results=[result], reference="dragoman"
        )

    monkeypatch.setattr(contest, "compete", compete)
    return options


def test_the_defaults(model: str, asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    translation_speed(["dragoman"], model=model, quiet=True)

    assert (asked["beams"], asked["rounds"]) == ([1, 4], 5)
    assert asked["kinds"] == ["throughput", "latency", "start", "file"]
    assert asked["patience"] == 60
    assert asked["conditions"].lines == 1000
    assert not asked["conditions"].material.forced
    assert "7" in capsys.readouterr().out


def test_options(
    model: str, asked: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_text("\n".join(SOURCES), encoding="utf-8")
    translation_speed(
        ["ctranslate2", "dragoman"], model=model, text=text, lines=20, beam=[5, 2, 5], only=["latency"],
        rounds=2, threads=3, busy=True, as_json=True, quiet=True,
    )  # fmt: skip
    table = json.loads(capsys.readouterr().out)

    assert (asked["beams"], asked["kinds"], asked["rounds"]) == ([2, 5], ["latency"], 2)
    assert asked["patience"] == 0
    assert asked["names"] == ["ctranslate2", "dragoman"]
    assert (table["lines"], table["threads"], table["model"]) == (20, 3, model)


def test_disagreement_is_a_failure(
    model: str, asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    asked["different"] = 1
    with pytest.raises(typer.Exit):
        translation_speed(["dragoman"], model=model, lines=10, quiet=True)
    assert "DISAGREES: dragoman" in capsys.readouterr().out


def test_mistakes_end_before_any_work(model: str, asked: dict[str, Any], tmp_path: Path) -> None:
    for options, message in (
        ({"contenders": ["nobody"]}, "unknown contender"),
        ({"only": ["speed"]}, "--only speed"),
        ({"preset": "vast"}, "vast"),
        ({"model": model, "preset": "tiny"}, "--model together with --preset"),
    ):
        with pytest.raises(ConfigError, match=message):
            translation_speed(**options, quiet=True)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="nowhere"):
        translation_speed(["dragoman"], text=tmp_path / "nowhere", quiet=True)
    assert "conditions" not in asked
