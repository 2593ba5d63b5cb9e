"""The general model beside others: equal shapes and times, results that are kept, and differences of chrF."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.benchmarks.test_scripts import SCRIPTS, load

from dragoman.base.errors import ConfigError
from dragoman.training.runs.recipe import resolve

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load(next(path for path in SCRIPTS if path.stem == "general"), monkeypatch)


@pytest.fixture
def general_text(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load(next(path for path in SCRIPTS if path.stem == "general_text"), monkeypatch)


def options(folder: Path, threads: int) -> argparse.Namespace:
    (folder / "general").mkdir(exist_ok=True)
    for name in ("train.en", "train.de"):
        (folder / "general" / name).write_text("a line\n", encoding="utf-8")
    return argparse.Namespace(
        recipe=RECIPES / "general-en-de.toml",
        data=folder,
        work=folder / "work",
        huggingface=Path("python-of-theirs"),
        minutes=7.5,
        seed=3,
        threads=threads,
        words=["training.warmup=1"],
    )


def test_ctrl_c_does_not_reach_the_training_twice(script: ModuleType, tmp_path: Path) -> None:
    """The terminal sends it to a whole group of processes; the script passes it on."""
    group = "import os; assert os.getpgid(0) == os.getpid()"

    assert script.run([sys.executable, "-c", group], tmp_path / "model", 1) > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_all_get_the_same_text_shape_time_and_threads(
    script: ModuleType, tmp_path: Path, threads: int
) -> None:
    some = options(tmp_path, threads)
    recipe = resolve(recipe=some.recipe)

    ours, *theirs = [script.command_of(method, tmp_path / "model", recipe, some) for method in script.METHODS]

    assert "training.max_minutes=7.5" in ours
    assert ("--nproc-per-node" in ours) == (threads > 1)
    assert ours[-1] == "training.warmup=1"
    text = [str(tmp_path / "general" / name) for name in ("train.en", "train.de")]
    for command in theirs:
        assert command[2:4] == text
        assert command[command.index("--minutes") + 1] == "7.5"
        assert command[command.index("--threads") + 1] == str(threads)
    shape = json.loads((tmp_path / "work" / "shape.json").read_text(encoding="utf-8"))
    assert shape["vocab_size"] == 12_000
    assert (shape["encoder_layers"], shape["decoder_layers"], shape["d_model"]) == (4, 2, 256)
    assert shape["encoder_ffn_dim"] == shape["decoder_ffn_dim"] == 1024


@pytest.mark.slow
def test_their_model_has_as_many_weights_as_ours(script: ModuleType) -> None:
    """But for biases and normalisation, which MarianMT has in other places: less than 2 %."""
    transformers = pytest.importorskip("transformers")
    recipe = resolve(recipe=RECIPES / "general-en-de.toml")

    config = transformers.MarianConfig(
        **script.marian_shape(recipe), pad_token_id=0, decoder_start_token_id=0
    )
    model = transformers.MarianMTModel(config)

    learnt = [weight for name, weight in model.named_parameters() if "embed_positions" not in name]
    assert sum(weight.numel() for weight in learnt) == pytest.approx(8_330_752, rel=0.02)


def test_marian_has_no_ssru(script: ModuleType) -> None:
    with pytest.raises(ConfigError, match="MarianMT"):
        script.marian_shape(resolve(recipe=RECIPES / "general-en-de-small.toml"))


def test_a_result_is_measured_once(script: ModuleType, tmp_path: Path) -> None:
    model, other = tmp_path / "model.json", tmp_path / "other.json"

    assert script.once(model, ["a"], lambda: 1) == 1
    assert script.once(model, ["a"], lambda: 2) == 1
    assert script.once(other, ["a"], lambda: 2) == 2
    with pytest.raises(SystemExit, match=r"model\.json: made by another command or recipe"):
        script.once(model, ["b"], lambda: 2)
    assert script.once(model, ["a"], lambda: 2) == 1
    assert script.once(model, ["b"], lambda: 2, again=True) == 2
    (tmp_path / "old.json").write_text('{"parameters": 1}')  # as it was once
    with pytest.raises(SystemExit, match=r"old\.json: made by another command or recipe"):
        script.once(tmp_path / "old.json", ["a"], lambda: 1)


def test_another_text_or_model_is_scored_again(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scores(model: Path, minutes: float | None, texts: dict[str, Any], threads: int) -> Any:
        done.append(sorted(texts))
        return script.Result(parameters=1, minutes=minutes, bleu={}, chrf={})

    done: list[list[str]] = []
    monkeypatch.setattr(script, "scores", scores)
    for name in ("model.safetensors", "a.en", "a.de", "b.en", "b.de"):
        (tmp_path / name).write_text("x\n")
    texts = {name: [tmp_path / f"{name}.en", tmp_path / f"{name}.de"] for name in "ab"}

    for some in ({"a": texts["a"]}, {"a": texts["a"]}, texts, texts):
        assert script.scored(tmp_path / "record", tmp_path, 1.0, some, 1).minutes == 1.0
    assert done == [["a"], ["a", "b"]]
    (tmp_path / "model.safetensors").write_text("y")
    script.scored(tmp_path / "record", tmp_path, 1.0, texts, 1)
    assert done == [["a"], ["a", "b"], ["a", "b"]]


def test_minutes_add_up_over_starts(script: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "work" / "model"
    folder.parent.mkdir()
    folder.with_suffix(".minutes").write_text("60.0", encoding="utf-8")

    with pytest.raises(SystemExit, match="exit code 3"):
        script.run([sys.executable, "-c", "raise SystemExit(3)"], folder, 1)
    assert script.run([sys.executable, "-c", ""], folder, 1) > 60.0


def test_the_last_column_is_the_distance_from_the_first_model(script: ModuleType) -> None:
    def result(*chrf: float) -> object:
        return script.Result(
            parameters=1000,
            minutes=None,
            bleu={"own": 20.0, "news": 10.0},
            chrf=dict(zip(("own", "news"), chrf, strict=True)),
        )

    lines = script.to_text({"large": result(50.0, 40.0), "small": result(49.0, 40.5)}).splitlines()

    assert re.split(r"  +", lines[1])[-1] == "+0.00"
    assert re.split(r"  +", lines[2]) == ["small", "1,000", "-", "20.00", "49.00", "10.00", "40.50", "-0.25"]


# The text: what is held out, and what stays away from it


def test_pairs_like_a_held_out_one_leave_the_text(general_text: ModuleType) -> None:
    held = [("The old mill by the river was sold.", "Die alte Mühle am Fluss wurde verkauft.")]
    text = [
        ("the old mill by the river was sold", "Man hat sie verkauft."),  # one side, but for case and marks
        ("The old mill by the river was cold.", "In der Mühle war es kalt."),  # one letter
        ("Nothing of the kind.", "Die alten Mühlen am Fluss wurden verkauft."),  # the other side
        ("A train left at nine.", "Ein Zug fuhr um neun."),
    ]

    assert general_text.apart(text, held, 1.0) == (text[1:], 1, 0)
    assert general_text.apart(text, held, 0.8) == (text[3:], 1, 2)


def test_the_parts_have_nothing_in_common(
    general_text: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = "amber basalt cedar delta ember fjord garnet harbour island juniper".split()
    sources = [f"{one} {other} {third}" for one in words for other in words for third in words]
    for language in ("en", "de"):
        text = "".join(f"{source} {language}\n" for source in sources)
        (tmp_path / f"mix.{language}").write_text(text, encoding="utf-8")
        (tmp_path / f"news.{language}").write_text(f"{sources[500]} {language}\n", encoding="utf-8")
    files = [str(tmp_path / f"mix.{language}") for language in ("en", "de")]
    news = [str(tmp_path / f"news.{language}") for language in ("en", "de")]
    sizes = ["--valid", "5", "--test", "7", "--apart", *news]
    monkeypatch.setattr(sys, "argv", ["general_text.py", *files, "-o", str(tmp_path / "out"), *sizes])

    general_text.main()

    parts = {
        part: (tmp_path / "out" / f"{part}.en").read_text(encoding="utf-8").splitlines()
        for part in ("train", "valid", "test")
    }
    assert [len(parts[part]) for part in ("valid", "test", "train")] == [5, 7, 1000 - 5 - 7 - 1]
    assert len(set().union(*parts.values())) == 999
    assert "987 to train on" in capsys.readouterr().out
