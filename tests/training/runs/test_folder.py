"""A training folder: what lies where, what may run there, and what is never overwritten.

`test_run.py` has the same seen from outside, with runs.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError
from dragoman.training.runs.folder import RunFolder
from dragoman.training.runs.recipe import Recipe, resolve

SAVED = Path(__file__).parents[2] / "saved/0.1/half-done"


def recipe(*overrides: str) -> Recipe:
    return resolve(preset="tiny", overrides=overrides)


def begun(path: Path, *overrides: str) -> RunFolder:
    """A folder in which a run has saved a checkpoint."""
    with RunFolder(path) as folder:
        assert not folder.begin(recipe(*overrides))
    folder.checkpoints.latest.mkdir()
    return folder


def test_the_files_of_a_half_done_run_are_where_version_0_1_put_them() -> None:
    folder = RunFolder(SAVED)

    assert folder.recipe.is_file()
    assert folder.metrics.path.is_file()
    assert folder.checkpoints.resumable
    assert folder.checkpoints.step(8).is_file()
    assert (folder.checkpoints.corpus("train") / "about.json").is_file()
    assert folder.checkpoints.progress().step == 13
    assert [candidate.step for candidate in folder.checkpoints.progress().history] == [8]
    assert not folder.complete


def test_a_new_folder_gets_the_recipe(tmp_path: Path) -> None:
    folder = begun(tmp_path / "x", "seed=3")

    assert "seed = 3" in folder.recipe.read_text(encoding="utf-8")
    assert sorted(path.name for path in folder.path.iterdir()) == ["checkpoints", "training.toml"]


def test_a_path_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"udce9': the path is not UTF-8"):
        RunFolder(tmp_path / "a\udce9")


def test_the_same_run_is_resumed(tmp_path: Path) -> None:
    begun(tmp_path)

    with RunFolder(tmp_path) as folder:
        assert folder.begin(recipe())


@pytest.mark.parametrize(
    "option",
    ["title=x", "training.max_updates=7", "training.max_minutes=3", "training.patience=9",
     "training.log_every=3", "expected.score=41 BLEU"],
)  # fmt: skip
def test_how_long_to_train_may_change(option: str, tmp_path: Path) -> None:
    begun(tmp_path)

    assert RunFolder(tmp_path).changes(recipe(option)) == []


def test_everything_else_may_not(tmp_path: Path) -> None:
    folder = begun(tmp_path)

    assert folder.changes(recipe("seed=2", "model.heads=2")) == ["model.heads: 4 -> 2", "seed: 1 -> 2"]
    with RunFolder(tmp_path) as again, pytest.raises(ConfigError, match="seed: 1 -> 2"):
        again.begin(recipe("seed=2"))
    assert folder.changes(recipe()) == []


def test_until_the_first_checkpoint_options_may_change(tmp_path: Path) -> None:
    begun(tmp_path).checkpoints.latest.rmdir()

    with RunFolder(tmp_path) as folder:
        assert not folder.begin(recipe("seed=2"))


def test_a_checkpoint_that_was_being_replaced_counts(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    folder.checkpoints.latest.rename(folder.checkpoints.latest.with_name("latest.old"))

    assert folder.checkpoints.resumable


@pytest.mark.parametrize("name", ["tokenizer.source.words.json", "tokenizer.target.spm", "generation.json"])
def test_files_of_someone_else_are_not_overwritten(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("Mine.")

    with RunFolder(tmp_path) as folder, pytest.raises(ConfigError, match=name):
        folder.begin(recipe())

    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_that_another_run_is_writing_is_left_as_it_is(tmp_path: Path) -> None:
    begun(tmp_path)
    with RunFolder(tmp_path) as first, RunFolder(tmp_path) as second:
        first.begin(recipe())
        before = first.recipe.stat().st_mtime_ns

        with pytest.raises(ConfigError, match="another command is writing"):
            second.lock_if_ours()
        with pytest.raises(ConfigError, match="another command is writing"):
            second.begin(recipe())

        assert first.recipe.stat().st_mtime_ns == before
    with RunFolder(tmp_path) as third:
        assert third.begin(recipe())


def test_a_folder_of_someone_else_gets_no_lock(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()

    with RunFolder(tmp_path) as folder:
        folder.lock_if_ours()

    assert not list((tmp_path / "checkpoints").iterdir())


def test_a_run_shows_its_loss_in_a_notebook(tmp_path: Path) -> None:
    picture = RunFolder(SAVED)._repr_html_()
    drawn = base64.b64decode(re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', picture)[0]).decode()
    assert 'alt="Loss of ' in picture
    for name in ("training", "validation", "updates", "nats a token"):
        assert name in drawn
    assert "nothing measured yet" in RunFolder(tmp_path / "<new>")._repr_html_()
    assert "<new>" not in RunFolder(tmp_path / "<new>")._repr_html_()


def test_the_files_of_several_texts_may_have_other_names(tmp_path: Path) -> None:
    """Their digests say whether the text is the same."""
    corpora = 'data.corpora=[{{name="a", train=["{0}.en-de.tsv"], valid=["{0}-v.en-de.tsv"], weight={1}}}]'
    folder = begun(tmp_path, corpora.format("old", 1))

    assert folder.changes(recipe(corpora.format("new", 1))) == []
    (line,) = folder.changes(recipe(corpora.format("new", 2)))
    assert line.startswith("data.corpora: ")
